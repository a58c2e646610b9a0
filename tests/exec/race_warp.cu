// mistake: {line}: race: .* of shared memory.* and no barrier orders the two. Fix: put __syncthreads.* or __syncwarp
// check: race
#include "tests/exec/check.h"

// A warp adds its values in shared memory, without barriers of the block.
__global__ void sums(const int* values, int* out, bool mistake) {
  __shared__ int part[64];
  const int t = threadIdx.x, lane = t % 32;
  part[t] = values[blockIdx.x * 64 + t];
  for (int half = 16; half > 0; half /= 2) {
    if (!mistake) __syncwarp();
    if (lane < half) part[t] += part[t + half];  // planted
  }
  if (lane == 0) out[blockIdx.x * 2 + t / 32] = part[t];
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(256);
  int* const out = on_device(std::vector<int>(8));
  sums<<<4, 64>>>(on_device(values), out, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(8);
  for (int i = 0; i < 256; ++i) expected[i / 32] += values[i];
  return result(on_host(out, 8) == expected);
}
