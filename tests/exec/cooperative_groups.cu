// mistake: {line}: cudaErrorNotSupported
#include <cooperative_groups.h>

#include "tests/exec/check.h"

namespace groups = cooperative_groups;

// Tiles of 8 threads add their values; the block's first thread adds the tiles.
__global__ void sum(const int* values, int* out) {
  __shared__ int parts[16];
  const groups::thread_block block = groups::this_thread_block();
  const auto tile = groups::tiled_partition<8>(block);
  int mine = values[blockIdx.x * blockDim.x + block.thread_rank()];
  for (int step = 4; step > 0; step /= 2) mine += tile.shfl_down(mine, step);
  if (tile.thread_rank() == 0) parts[block.thread_rank() / 8] = mine;
  block.sync();
  if (block.thread_rank() != 0) return;
  int total = 0;
  for (int i = 0; i < 16; ++i) total += parts[i];
  out[blockIdx.x] = total;
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(3 * 128);
  int *in = on_device(values), *out = on_device(std::vector<int>(3));
  void* arguments[] = {&in, &out};
  if (with_mistake(argc, argv)) {  // blocks that wait for each other
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(sum), dim3(3), dim3(128), arguments, 0, nullptr));  // planted
  }
  sum<<<3, 128>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> sums = on_host(out, 3);
  bool right = true;
  for (int b = 0; b < 3; ++b) {
    int expected = 0;
    for (int i = 0; i < 128; ++i) expected += values[b * 128 + i];
    right = right && sums[b] == expected;
  }
  return result(right);
}
