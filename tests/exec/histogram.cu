// mistake: access to 4 bytes at 0x0, which is
#include "tests/exec/check.h"

__global__ void count(const int* values, unsigned* bins, int n) {
  __shared__ unsigned mine[17];
  if (threadIdx.x < 17) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[values[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 17) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);  // planted
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(3000);
  unsigned* const bins = on_device(std::vector<unsigned>(17));
  count<<<5, 128>>>(on_device(values), with_mistake(argc, argv) ? nullptr : bins, 3000);
  CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> expected(17);
  for (const int value : values) ++expected[value];
  return result(on_host(bins, 17) == expected);
}
