// One process of a communicator, for process_test.cc:
//   nccl_worker ID RANKS FIRST_RANK LOCAL_RANKS STEPS [die-at STEP | leave]
// ID is an ncclUniqueId in hexadecimal. Prints a line for each of its ranks: "rank 2 hash 0123...", or "error 6 rank 1 has gone: ...".
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/simulator/gpu/nccl/support/sequence.h"

int main(int argc, char** argv) {
  using namespace lockstep::test;
  if (argc < 6) return 2;
  ncclUniqueId id{};
  const std::string hex = argv[1];
  for (std::size_t i = 0; i < sizeof(id.internal) && 2 * i + 1 < hex.size(); ++i) {
    id.internal[i] = static_cast<char>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  LocalRanks here;
  here.ranks = std::atoi(argv[2]);
  here.first_rank = std::atoi(argv[3]);
  const int local = std::atoi(argv[4]);
  const int steps = std::atoi(argv[5]);
  const int die_at = argc > 7 && std::strcmp(argv[6], "die-at") == 0 ? std::atoi(argv[7]) : -1;
  setenv("LOCKSTEP_SIM_GPUS", argv[4], 1);
  setenv("LOCKSTEP_SIM_WORKERS", "1", 1);
  here.comms.resize(static_cast<std::size_t>(local));
  here.streams.resize(static_cast<std::size_t>(local));
  ncclGroupStart();
  for (int i = 0; i < local; ++i) {
    cudaSetDevice(i);
    cudaStreamCreateWithFlags(&here.streams[static_cast<std::size_t>(i)], cudaStreamNonBlocking);
    ncclCommInitRank(&here.comms[static_cast<std::size_t>(i)], here.ranks, id, here.first_rank + i);
  }
  if (const ncclResult_t met = ncclGroupEnd(); met != ncclSuccess) {
    std::printf("error %d %s\n", static_cast<int>(met), ncclGetLastError(nullptr));
    return 1;
  }
  if (argc > 6 && std::strcmp(argv[6], "leave") == 0) {
    for (const ncclComm_t comm : here.comms) ncclCommDestroy(comm);
    return 0;
  }
  const SequenceResult result = run_sequence(here, steps, die_at);
  if (result.code != ncclSuccess) {
    std::printf("error %d %s\n", static_cast<int>(result.code), ncclGetLastError(here.comms[0]));
    for (const ncclComm_t comm : here.comms) ncclCommAbort(comm);
    return 1;
  }
  for (int i = 0; i < local; ++i) {
    std::printf("rank %d hash %016" PRIx64 "\n", here.first_rank + i, result.hashes[static_cast<std::size_t>(i)]);
  }
  for (const ncclComm_t comm : here.comms) ncclCommDestroy(comm);
  return 0;
}
