// mistake: {line}: cudaErrorInvalidDeviceFunction
#include "tests/exec/check.h"

__global__ void __launch_bounds__(256) work(float* values) {
  __shared__ float kept[1024];
  kept[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = kept[255 - threadIdx.x];
}
void no_kernel(float*) {}

int main(int argc, char** argv) {
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, with_mistake(argc, argv) ? no_kernel : work));  // planted
  int blocks = 0, smallest = 0, best = 0, warp = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, work, 256, 0));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&smallest, &best, work, 0, 256));
  CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s: %d blocks, best %d\n", properties.name, blocks, best);
  return result(attributes.sharedSizeBytes == 4096 && attributes.maxThreadsPerBlock == 256 && blocks == 4 && best == 256 && warp == 32 &&
                properties.major == 7 && properties.minor == 5);
}
