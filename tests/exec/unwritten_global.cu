// mistake: {line}: uninitialised read: it reads 4 bytes, 400 bytes into an allocation of 4000.* Fix: write
// check: memory
#include "tests/exec/check.h"

__global__ void add(float* sums, const float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sums[i] += values[i];  // planted
}

int main(int argc, char** argv) {
  const int n = 1000;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  float *sums = nullptr, *const in = on_device(values);
  CHECK(cudaMalloc(&sums, n * sizeof(float)));
  CHECK(cudaMemset(sums, 0, with_mistake(argc, argv) ? 400 : n * sizeof(float)));
  for (int k = 0; k < 2; ++k) add<<<4, 256>>>(sums, in, n);
  CHECK(cudaDeviceSynchronize());
  bool right = true;
  const std::vector<float> got = on_host(sums, n);
  for (int i = 0; i < n; ++i) right = right && got[i] == 2 * values[i];
  return result(right);
}
