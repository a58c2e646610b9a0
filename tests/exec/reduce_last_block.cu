// mistake: {line}: cudaErrorMemoryAllocation
#include "tests/exec/check.h"

__device__ unsigned finished;

// The block that ends last adds the parts of all.
__global__ void sum(const float* values, float* parts, float* out, int n) {
  __shared__ bool last;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  for (int mask = 16; mask > 0; mask /= 2) mine += __shfl_xor_sync(0xffffffff, mine, mask);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = mine;
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += parts[b];
    *out = total;
  }
}

int main(int argc, char** argv) {
  std::vector<float> values(4096);
  for (int i = 0; i < 4096; ++i) values[i] = static_cast<float>(i % 5);
  float *in = on_device(values), *parts = on_device(std::vector<float>(8)), *out = on_device(std::vector<float>(1));
  float* more = nullptr;
  CHECK(cudaMalloc(&more, with_mistake(argc, argv) ? std::size_t{1} << 40 : 64));  // planted
  sum<<<8, 32>>>(in, parts, out, 4096);
  CHECK(cudaDeviceSynchronize());
  float expected = 0;
  for (const float value : values) expected += value;
  return result(on_host(out, 1)[0] == expected);
}
