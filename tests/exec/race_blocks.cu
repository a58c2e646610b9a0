// mistake: {line}: race: it reads 4 bytes .* of block \(0, 0, 0\) writes in .*race_blocks.cu line 1[34], .*Fix: use atomics
// check: race
#include "tests/exec/check.h"

// The dot product of two vectors; each block adds its part to the result.
__global__ void dot(const int* a, const int* b, int* out, int n, bool mistake) {
  __shared__ int part;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&part, a[i] * b[i]);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (mistake)
      *out += part;  // planted
    else
      atomicAdd(out, part);
  }
}

int main(int argc, char** argv) {
  const std::vector<int> a = counting(1500), b = counting(1500);
  int* const out = on_device(std::vector<int>(1));
  dot<<<6, 64>>>(on_device(a), on_device(b), out, 1500, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  int expected = 0;
  for (int i = 0; i < 1500; ++i) expected += a[i] * b[i];
  return result(on_host(out, 1)[0] == expected);
}
