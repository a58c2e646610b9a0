// A fixed sequence of collectives and transfers whose results are a number: the same in every process, however ranks are spread.
#pragma once

#include <cstdint>
#include <vector>

#include <nccl.h>

namespace lockstep::test {

// The local ranks of a communicator, first_rank and those after it, on GPUs 0, 1, ... . `before` is called before each step.
struct LocalRanks {
  int ranks = 1;
  int first_rank = 0;
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
};

struct SequenceResult {
  ncclResult_t code = ncclSuccess;
  std::vector<std::uint64_t> hashes;  // by local rank, over everything it received
};

// Runs `steps` of the sequence; die_at >= 0: SIGKILLs the process before that step.
SequenceResult run_sequence(const LocalRanks& here, int steps, int die_at = -1);

inline constexpr int kSequenceSteps = 14;

}  // namespace lockstep::test
