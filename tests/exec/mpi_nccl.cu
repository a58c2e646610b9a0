// machine: 4xt4
// mpi: 2
// link: -lnccl
// mistake: {line}: another rank has gone
#include <mpi.h>
#include <nccl.h>

#include "tests/exec/check.h"

__global__ void fill(float* values, int rank) { values[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<float>(rank + threadIdx.x); }

// A process for each GPU: MPI carries the id, NCCL the numbers.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(cudaSetDevice(rank));
  const int n = 1024;
  float* values = on_device(std::vector<float>(n));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  ncclComm_t communicator;
  bool right = ranks == 2 && ncclCommInitRank(&communicator, ranks, id, rank) == ncclSuccess;
  fill<<<n / 128, 128, 0, stream>>>(values, rank);
  if (with_mistake(argc, argv) && rank == 1) {
    ncclCommAbort(communicator);  // the other rank waits for this one
  } else {
    right = right && ncclAllReduce(values, values, n, ncclFloat, ncclSum, communicator, stream) == ncclSuccess;
    const cudaError_t waited = cudaStreamSynchronize(stream);
    ncclResult_t status = ncclSuccess;
    ncclCommGetAsyncError(communicator, &status);  // planted
    if (status != ncclSuccess) {
      std::printf("line %d: %s\n", __LINE__ - 2, ncclGetErrorString(status));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    CHECK(waited);
    const std::vector<float> got = on_host(values, n);
    for (int i = 0; i < n; ++i) right = right && got[i] == static_cast<float>(1 + 2 * (i % 128));
    ncclCommDestroy(communicator);
  }
  int all = 0, mine = right ? 1 : 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Finalize();
  return rank == 0 ? result(all == 1) : 1 - all;
}
