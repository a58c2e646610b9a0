// Lesson 12: many machines.
#pragma once

#include "given.h"

namespace lesson {

// The rank of a GPU, when GPUs of one machine have neighbouring ranks.
inline int rank_of(int machine, int local, int gpus_per_machine) {
  return 0;  // Your code.
}

// This replica's samples of the global batch, cut among the replicas of all machines as in lesson 2: contiguous, sizes differ by at most
// one, larger ones first, in the order of ranks.
inline Range shard_of(const World& world, std::int64_t samples) {
  return {};  // Your code.
}

// Joins the group: choose the GPU (world.device), get rank 0's id (world.share), ncclCommInitRank.
inline ncclComm_t join(World& world) {
  return nullptr;  // Your code.
}

// All ranks' gradients become their sum, in place, in this stream. They were divided by the global batch before.
inline void sum_gradients(ncclComm_t comm, float* gradient, std::int64_t count, cudaStream_t stream) {
  // Your code.
}

// In a ring rank r sends to r + 1, and the last one to 0. How many of these links go from one machine to another?
inline int network_links(const std::vector<int>& machine_of_rank) {
  return 0;  // Your code.
}

}  // namespace lesson
