// Wrong: the mean instead of the sum.
// Says: and is 250: the mean. Lesson 3 has divided already.
#pragma once

#include "given.h"

namespace lesson {

inline int rank_of(int machine, int local, int gpus_per_machine) { return machine * gpus_per_machine + local; }

inline Range shard_of(const World& world, std::int64_t samples) {
  const std::int64_t ranks = world.machines * world.gpus_per_machine;
  const std::int64_t rank = rank_of(world.machine, world.local, world.gpus_per_machine);
  const std::int64_t share = samples / ranks, larger = samples % ranks;
  return {rank * share + std::min(rank, larger), share + (rank < larger ? 1 : 0)};
}

inline ncclComm_t join(World& world) {
  CHECK_CUDA(cudaSetDevice(world.device));
  const int rank = rank_of(world.machine, world.local, world.gpus_per_machine);
  ncclUniqueId id{};
  if (rank == 0) CHECK_NCCL(ncclGetUniqueId(&id));
  id = world.share(rank == 0 ? &id : nullptr);
  ncclComm_t comm = nullptr;
  CHECK_NCCL(ncclCommInitRank(&comm, world.machines * world.gpus_per_machine, id, rank));
  return comm;
}

inline void sum_gradients(ncclComm_t comm, float* gradient, std::int64_t count, cudaStream_t stream) {
  CHECK_NCCL(ncclAllReduce(gradient, gradient, static_cast<std::size_t>(count), ncclFloat, ncclAvg, comm, stream));
}

inline int network_links(const std::vector<int>& machine_of_rank) {
  int links = 0;
  for (std::size_t r = 0; r < machine_of_rank.size(); ++r)
    links += machine_of_rank[r] != machine_of_rank[(r + 1) % machine_of_rank.size()] ? 1 : 0;
  return links;
}

}  // namespace lesson
