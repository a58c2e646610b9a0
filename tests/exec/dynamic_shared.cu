// mistake: {line}: cudaErrorInvalidValue
#include "tests/exec/check.h"

__global__ void reverse(const int* in, int* out, int n) {
  extern __shared__ int kept[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) kept[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = kept[n - 1 - i];
}

int main(int argc, char** argv) {
  const int n = 14000;  // 56,000 bytes: more than a kernel gets without asking
  const std::vector<int> values = counting(n);
  int* const out = on_device(values);
  const std::size_t bytes = n * sizeof(int);
  if (!with_mistake(argc, argv)) CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  reverse<<<1, 256, bytes>>>(on_device(values), out, n);
  CHECK(cudaGetLastError());  // planted
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> got = on_host(out, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && got[i] == values[n - 1 - i];
  return result(right);
}
