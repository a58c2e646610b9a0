// mistake: {line}: race: it reads 4 bytes .* of block \(0, 0, 0\) writes in .*Fix: put __threadfence
// check: race
#include "tests/exec/check.h"

__device__ unsigned finished;

// The block that ends last takes the largest value of all blocks.
__global__ void largest(const int* values, int* parts, int* out, int n, bool mistake) {
  __shared__ int most[64];
  __shared__ bool last;
  const int t = threadIdx.x;
  most[t] = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) most[t] = max(most[t], values[i]);
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) most[t] = max(most[t], most[t + half]);
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = most[0];
    if (!mistake) __threadfence();
    last = atomicAdd(&finished, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (t < gridDim.x) most[t] = parts[t];  // planted
  __syncthreads();
  if (t > 0) return;
  for (int b = 1; b < gridDim.x; ++b) most[0] = max(most[0], most[b]);
  *out = most[0];
  finished = 0;
}

int main(int argc, char** argv) {
  std::vector<int> values = counting(2000);
  values[1234] = 99;
  int *const parts = on_device(std::vector<int>(8)), *const out = on_device(std::vector<int>(1)), *const in = on_device(values);
  for (int k = 0; k < 2; ++k) largest<<<8, 64>>>(in, parts, out, 2000, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  return result(on_host(out, 1)[0] == 99);
}
