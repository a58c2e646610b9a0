// mistake: {line}: access to 4 bytes at .* of shared memory, which has
#include "tests/exec/check.h"

__global__ void scan(const int* in, int* out, int past) {
  __shared__ int a[128];
  const int t = threadIdx.x;
  a[t + past] = in[t];  // planted
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int before = t >= step ? a[t - step] : 0;
    __syncthreads();
    a[t] += before;
    __syncthreads();
  }
  out[t] = a[t];
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(128);
  int* const out = on_device(values);
  scan<<<1, 128>>>(on_device(values), out, with_mistake(argc, argv) ? 1 : 0);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> sums = on_host(out, 128);
  bool right = true;
  for (int i = 0, sum = 0; i < 128; ++i) right = right && sums[i] == (sum += values[i]);
  return result(right);
}
