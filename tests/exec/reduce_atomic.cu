// mistake: access to 4 bytes at .* host memory that was not page-locked
#include "tests/exec/check.h"

__global__ void sum(const int* values, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, values[i]);  // planted
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(5000);
  int* const in = on_device(values);
  std::vector<int> host(1);
  int* const out = on_device(host);
  sum<<<20, 256>>>(in, with_mistake(argc, argv) ? host.data() : out, 5000);
  CHECK(cudaDeviceSynchronize());
  int expected = 0;
  for (const int value : values) expected += value;
  return result(on_host(out, 1)[0] == expected);
}
