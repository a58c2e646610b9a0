// mistake: {line}: assertion 'mine == other' does not hold
#include <cassert>

#include "tests/exec/check.h"

// Once down, once across: both give the same sum in lane 0.
__global__ void sum(const int* values, int* out, int n, bool mistake) {
  int mine = 0;
  for (int i = threadIdx.x; i < n; i += 32) mine += values[i];
  int other = mine;
  for (int step = mistake ? 8 : 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
  for (int mask = 16; mask > 0; mask /= 2) other += __shfl_xor_sync(0xffffffff, other, mask);
  if (threadIdx.x == 0) {
    assert(mine == other);  // planted
    *out = mine;
  }
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(1000);
  int* const out = on_device(std::vector<int>(1));
  sum<<<1, 32>>>(on_device(values), out, 1000, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  int expected = 0;
  for (const int value : values) expected += value;
  return result(on_host(out, 1)[0] == expected);
}
