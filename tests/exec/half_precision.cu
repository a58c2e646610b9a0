// mistake: {line}: the kernel ran into a trap
#include <cuda_fp16.h>

#include "tests/exec/check.h"

__global__ void axpy(const __half2* x, __half2* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n == 0) __trap();  // planted
  if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

int main(int argc, char** argv) {
  const int n = 200;
  std::vector<__half2> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = __floats2half2_rn(i, i + 1), y[i] = __floats2half2_rn(1, 2);
  __half2* const out = on_device(y);
  axpy<<<1, 256>>>(on_device(x), out, 0.5f, with_mistake(argc, argv) ? 0 : n);
  CHECK(cudaDeviceSynchronize());
  const std::vector<__half2> got = on_host(out, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && __low2float(got[i]) == 0.5f * i + 1 && __high2float(got[i]) == 0.5f * (i + 1) + 2;
  return result(right);
}
