#include "engine/tensor/shard.h"

#include "lockstep/error.h"

namespace lockstep {

std::vector<Shard> cut_batch(std::int64_t samples, int replicas) {
  if (replicas < 1) throw Error("A batch is cut among at least one replica, not " + std::to_string(replicas) + ".");
  if (samples < 0) throw Error("A batch has no " + std::to_string(samples) + " samples.");
  std::vector<Shard> shards(static_cast<std::size_t>(replicas));
  const std::int64_t share = samples / replicas;
  const std::int64_t larger = samples % replicas;
  std::int64_t first = 0;
  for (std::int64_t r = 0; r < replicas; ++r) {
    const std::int64_t count = share + (r < larger ? 1 : 0);
    shards[static_cast<std::size_t>(r)] = {first, count};
    first += count;
  }
  return shards;
}

}  // namespace lockstep
