// machine: 4xt4
// link: -lnccl
// mistake: {line}: invalid argument
#include <nccl.h>

#include "tests/exec/check.h"

#define NCCL(call)                                                         \
  do {                                                                     \
    const ncclResult_t status_ = (call);                                   \
    if (status_ != ncclSuccess) {                                          \
      std::printf("line %d: %s\n", __LINE__, ncclGetErrorString(status_)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

__global__ void fill(float* values, float value) { values[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main(int argc, char** argv) {
  const int ranks = 4, n = 1024;
  ncclComm_t communicators[4];
  NCCL(ncclCommInitAll(communicators, ranks, nullptr));
  float* values[4];
  for (int d = 0; d < ranks; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&values[d], n * sizeof(float)));
    fill<<<n / 256, 256>>>(values[d], static_cast<float>(d + 1));
  }
  NCCL(ncclGroupStart());
  for (int d = 0; d < ranks; ++d) {
    CHECK(cudaSetDevice(d));
    NCCL(ncclAllReduce(values[d], values[d], n, with_mistake(argc, argv) ? static_cast<ncclDataType_t>(99) : ncclFloat, ncclSum,
                       communicators[d], nullptr));  // planted
  }
  NCCL(ncclGroupEnd());
  bool right = true;
  for (int d = 0; d < ranks; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaDeviceSynchronize());
    for (const float value : on_host(values[d], n)) right = right && value == 10;
    NCCL(ncclCommDestroy(communicators[d]));
  }
  return result(right);
}
