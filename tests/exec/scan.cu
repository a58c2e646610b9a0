// mistake: {line}: cudaErrorInvalidMemcpyDirection
#include "tests/exec/check.h"

__global__ void scan(const int* in, int* out) {
  __shared__ int a[128];
  const int t = threadIdx.x;
  a[t] = in[t];
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
  int *const in = on_device(values), *const out = on_device(values);
  const auto kind = with_mistake(argc, argv) ? static_cast<cudaMemcpyKind>(7) : cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy(in, values.data(), 128 * sizeof(int), kind));  // planted
  scan<<<1, 128>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> sums = on_host(out, 128);
  bool right = true;
  for (int i = 0, sum = 0; i < 128; ++i) right = right && sums[i] == (sum += values[i]);
  return result(right);
}
