// mistake: {line}: access to 4 bytes at .* of shared memory, which has 1024
#include "tests/exec/check.h"

__global__ void sort(unsigned* values, bool mistake) {
  __shared__ unsigned kept[256];
  const unsigned t = threadIdx.x;
  kept[t] = values[t];
  for (unsigned size = 2; size <= 256; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const unsigned other = mistake ? t + step : t ^ step;
      if (other <= t) continue;
      const unsigned mine = kept[t], theirs = kept[other];  // planted
      const bool up = (t & size) == 0;
      if ((mine > theirs) == up) kept[t] = theirs, kept[other] = mine;
    }
  }
  __syncthreads();
  values[t] = kept[t];
}

int main(int argc, char** argv) {
  std::vector<unsigned> values(256);
  for (unsigned i = 0; i < 256; ++i) values[i] = i * 2654435761u;
  unsigned* const memory = on_device(values);
  sort<<<1, 256>>>(memory, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  const std::vector<unsigned> sorted = on_host(memory, 256);
  bool right = true;
  unsigned sum = 0, expected = 0;
  for (int i = 0; i < 256; ++i) {
    right = right && (i == 0 || sorted[i - 1] <= sorted[i]);
    sum += sorted[i];
    expected += values[i];
  }
  return result(right && sum == expected);
}
