// liblockstep_mpi.so: all that Lockstep asks of MPI. Loaded by workers.cc under mpirun only.
#include <mpi.h>

extern "C" {

int lockstep_mpi_begin(int* worker, int* workers) {
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun == 0 && MPI_Init(nullptr, nullptr) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, worker);
  MPI_Comm_size(MPI_COMM_WORLD, workers);
  return 0;
}

int lockstep_mpi_all_gather(int value, int* values) {
  return MPI_Allgather(&value, 1, MPI_INT, values, 1, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : 1;
}

int lockstep_mpi_all_gather_bytes(const char* bytes, int count, char* all) {
  return MPI_Allgather(bytes, count, MPI_CHAR, all, count, MPI_CHAR, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : 1;
}

int lockstep_mpi_broadcast(char* bytes, int count) { return MPI_Bcast(bytes, count, MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : 1; }

void lockstep_mpi_end() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) MPI_Finalize();
}

}  // extern "C"
