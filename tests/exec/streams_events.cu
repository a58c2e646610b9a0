// mistake: {line}: access .* is not allocated
#include "tests/exec/check.h"

__global__ void increment(int* value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) value[i] += 1;  // planted
}

int main(int argc, char** argv) {
  const int n = 2000;
  int *memory = nullptr, *pinned = nullptr;
  CHECK(cudaMalloc(&memory, n * sizeof(int)));
  CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
  for (int i = 0; i < n; ++i) pinned[i] = i;
  cudaStream_t first, second;
  cudaEvent_t begin, copied, end;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  for (cudaEvent_t* event : {&begin, &copied, &end}) CHECK(cudaEventCreate(event));
  CHECK(cudaEventRecord(begin, first));
  CHECK(cudaMemcpyAsync(memory, pinned, n * sizeof(int), cudaMemcpyHostToDevice, first));
  CHECK(cudaEventRecord(copied, first));
  CHECK(cudaStreamWaitEvent(second, copied, 0));
  if (with_mistake(argc, argv)) CHECK(cudaFree(memory));
  for (int k = 0; k < 5; ++k) increment<<<8, 256, 0, second>>>(memory, n);
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaMemcpyAsync(pinned, memory, n * sizeof(int), cudaMemcpyDeviceToHost, second));
  CHECK(cudaEventRecord(end, second));
  CHECK(cudaEventSynchronize(end));
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, begin, end));
  bool right = ms >= 0 && cudaStreamQuery(second) == cudaSuccess;
  for (int i = 0; i < n; ++i) right = right && pinned[i] == i + 5;
  return result(right);
}
