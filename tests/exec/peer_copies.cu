// machine: a100x8
// mistake: peer access from device 0 is not enabled
#include "tests/exec/check.h"

__global__ void add(int* mine, const int* theirs) { mine[threadIdx.x] += theirs[threadIdx.x]; }

int main(int argc, char** argv) {
  int devices = 0, possible = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaDeviceCanAccessPeer(&possible, 0, 1));
  const std::vector<int> values = counting(64);
  CHECK(cudaSetDevice(1));
  int* const theirs = on_device(values);
  CHECK(cudaSetDevice(0));
  int *mine = on_device(values), *copied = on_device(std::vector<int>(64));
  CHECK(cudaMemcpyPeer(copied, 0, theirs, 1, 64 * sizeof(int)));
  if (!with_mistake(argc, argv)) CHECK(cudaDeviceEnablePeerAccess(1, 0));
  add<<<1, 64>>>(mine, theirs);
  CHECK(cudaDeviceSynchronize());
  const std::vector<int> sums = on_host(mine, 64);
  bool right = devices == 8 && possible == 1 && on_host(copied, 64) == values;
  for (int i = 0; i < 64; ++i) right = right && sums[i] == 2 * values[i];
  return result(right);
}
