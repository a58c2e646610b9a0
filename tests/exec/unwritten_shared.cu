// mistake: {line}: uninitialised read: it reads \d+ bytes at \d+ of shared memory, which no thread of the
// check: memory
#include "tests/exec/check.h"

// How often each value occurs, in shared memory whose size the launch gives.
__global__ void count(const int* values, int* bins, int n, int cleared) {
  extern __shared__ int mine[];
  for (int i = threadIdx.x; i < cleared; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(mine + values[i], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 17; i += blockDim.x) {
    const int found = mine[i];
    if (found > 0) atomicAdd(bins + i, found);
  }
}

// A kernel for each; the second one reads a bin that it did not clear.
__global__ void largest(const int* values, int* out, int n, int written) {
  extern __shared__ int kept[];
  const int t = threadIdx.x;
  if (t < written) kept[t] = t < n ? values[t] : 0;
  __syncthreads();
  if (t > 0) return;
  int most = 0;
  for (int i = 0; i < blockDim.x; ++i) {
    most = max(most, kept[i]);  // planted
  }
  *out = most;
}

int main(int argc, char** argv) {
  const std::vector<int> values = counting(3000);
  int *const bins = on_device(std::vector<int>(17)), *const out = on_device(std::vector<int>(1)), *const in = on_device(values);
  count<<<5, 64, 17 * sizeof(int)>>>(in, bins, 3000, 17);
  largest<<<1, 64, 64 * sizeof(int)>>>(in, out, 50, with_mistake(argc, argv) ? 50 : 64);
  CHECK(cudaDeviceSynchronize());
  std::vector<int> expected(17);
  for (const int value : values) ++expected[value];
  return result(on_host(bins, 17) == expected && on_host(out, 1)[0] == 16);
}
