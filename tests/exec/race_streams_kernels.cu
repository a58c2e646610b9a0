// mistake: race: '_Z6filledPiii' on .* writes .*, then '_Z7doubledPKiPii' on .* reads .*, and nothing orders the two
// check: race
#include "tests/exec/check.h"

__global__ void filled(int* values, int first, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[first + i] = i;
}
__global__ void doubled(const int* values, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * values[i];
}

// Kernels on two streams share an allocation, of which each has one half: only bytes that both touch need an event.
int main(int argc, char** argv) {
  const int n = 512;
  int *values = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&values, 2 * n * sizeof(int)));
  CHECK(cudaMalloc(&out, n * sizeof(int)));
  cudaStream_t one, two;
  cudaEvent_t event;
  CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  filled<<<2, 256, 0, one>>>(values, 0, n);
  filled<<<2, 256, 0, two>>>(values, n, n);
  CHECK(cudaEventRecord(event, one));
  if (!with_mistake(argc, argv)) CHECK(cudaStreamWaitEvent(two, event, 0));
  doubled<<<2, 256, 0, two>>>(values, out, n);
  CHECK(cudaDeviceSynchronize());
  bool right = true;
  const std::vector<int> got = on_host(out, n);
  for (int i = 0; i < n; ++i) right = right && got[i] == 2 * i;
  return result(right);
}
