// mistake: {line}: waits at a barrier that the other threads do not reach
#include "tests/exec/check.h"

__global__ void sum(const int* values, int* out, int n, bool mistake) {
  __shared__ int part[256];
  const int t = threadIdx.x;
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  part[t] = mine;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) {
      part[t] += part[t + half];
      if (mistake && half >= 64) asm volatile("bar.sync 1, 256;");  // planted
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(10000);
  int* const in = on_device(values);
  int* const out = on_device(std::vector<int>(4));
  sum<<<4, 256>>>(in, out, 10000, with_mistake(argc, argv));
  CHECK(cudaDeviceSynchronize());
  int total = 0, expected = 0;
  for (const int part : on_host(out, 4)) total += part;
  for (const int value : values) expected += value;
  return result(total == expected);
}
