// mistake: {line}: access to 4 bytes at .* of local memory
#include "tests/exec/check.h"

// Once down, once across: both give the same sums in lane 0. Those of every step are kept in local memory.
__global__ void sum(const int* values, int* out, int n, int past) {
  int mine = 0;
  for (int i = threadIdx.x; i < n; i += 32) mine += values[i];
  int other = mine, down[5], across[5];
  for (int step = 16; step > 0; step /= 2) down[__ffs(step) - 1] = mine += __shfl_down_sync(0xffffffff, mine, step);
  for (int mask = 16; mask > 0; mask /= 2) across[__ffs(mask) - 1] = other += __shfl_xor_sync(0xffffffff, other, mask);
  int same = 0;
  for (int k = 0; k < 5; ++k) {
    same += down[k + past] == across[k];  // planted
  }
  if (threadIdx.x == 0) *out = same == 5 ? mine : -1;
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(1000);
  int* const out = on_device(std::vector<int>(1));
  sum<<<1, 32>>>(on_device(values), out, 1000, with_mistake(argc, argv) ? 1 << 20 : 0);
  CHECK(cudaDeviceSynchronize());
  int expected = 0;
  for (const int value : values) expected += value;
  return result(on_host(out, 1)[0] == expected);
}
