// mistake: {line}: cudaErrorInvalidValue
#include "tests/exec/check.h"

__managed__ int total;

__global__ void square(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  values[i] *= values[i];
  atomicAdd(&total, values[i]);
}

int main(int argc, char** argv) {
  const int n = 300;
  int* values = nullptr;
  CHECK(cudaMallocManaged(&values, n * sizeof(int)));
  total = 7;
  int expected = 7;
  for (int i = 0; i < n; ++i) values[i] = i, expected += i * i;
  square<<<3, 128>>>(values, n);
  CHECK(cudaDeviceSynchronize());
  bool right = total == expected;
  for (int i = 0; i < n; ++i) right = right && values[i] == i * i;
  CHECK(cudaFree(values));
  if (with_mistake(argc, argv)) CHECK(cudaFree(values));  // planted
  return result(right);
}
