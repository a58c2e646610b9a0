// check: deadlock
// machine: 4xt4
// link: -lnccl
// mistake: ranks disagree about collective number 1 of .*count must be the same
#include <nccl.h>

#include <thread>

#include "tests/exec/check.h"

__global__ void fill(float* values, float value) { values[blockIdx.x * blockDim.x + threadIdx.x] = value; }

// A host thread for each rank, as one process for each GPU would be.
void run(int rank, int ranks, ncclUniqueId id, bool* right, int short_by) {
  const int n = 512;
  ncclComm_t communicator;
  cudaStream_t stream;
  float* values = nullptr;
  CHECK(cudaSetDevice(rank));
  CHECK(cudaStreamCreate(&stream));
  *right = ncclCommInitRank(&communicator, ranks, id, rank) == ncclSuccess;
  CHECK(cudaMalloc(&values, ranks * n * sizeof(float)));
  fill<<<n / 128, 128, 0, stream>>>(values + rank * n, static_cast<float>(rank + 1));
  *right = *right && ncclAllGather(values + rank * n, values, n, ncclFloat, communicator, stream) == ncclSuccess;
  *right = *right && ncclAllReduce(values, values, ranks * n - short_by, ncclFloat, ncclMax, communicator, stream) == ncclSuccess;
  CHECK(cudaStreamSynchronize(stream));
  const std::vector<float> got = on_host(values, ranks * n);
  for (int i = 0; i < ranks * n; ++i) *right = *right && got[i] == static_cast<float>(i / n + 1);
  ncclCommDestroy(communicator);
}

int main(int argc, char** argv) {
  const int ranks = 4;
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return result(false);
  bool right[ranks];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back(run, rank, ranks, id, &right[rank], with_mistake(argc, argv) && rank == 1 ? 256 : 0);
  }
  for (std::thread& thread : threads) thread.join();
  return result(right[0] && right[1] && right[2] && right[3]);
}
