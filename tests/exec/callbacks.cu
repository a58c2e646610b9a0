// mistake: {line}: cudaErrorInvalidResourceHandle
#include "tests/exec/check.h"

__global__ void store(int* out, int value) { *out = value; }

struct Seen {
  int* from;
  int value;
};

int main(int argc, char** argv) {
  int* pinned = nullptr;
  CHECK(cudaHostAlloc(&pinned, sizeof(int), cudaHostAllocMapped));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Seen first{pinned, 0}, second{pinned, 0};
  const auto look = [](void* data) {
    auto* const seen = static_cast<Seen*>(data);
    seen->value = *seen->from;
  };
  store<<<1, 1, 0, stream>>>(pinned, 11);
  CHECK(cudaLaunchHostFunc(stream, look, &first));
  store<<<1, 1, 0, stream>>>(pinned, 22);
  CHECK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t, void* data) {
        auto* const seen = static_cast<Seen*>(data);
        seen->value = *seen->from;
      },
      &second, 0));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  if (with_mistake(argc, argv)) CHECK(cudaStreamSynchronize(stream));  // planted
  return result(first.value == 11 && second.value == 22);
}
