// How something is cut evenly: the samples of a batch among replicas, the elements of a buffer into chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// A contiguous run of samples of the global batch.
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Contiguous, sizes differ by at most one, larger first; any size, also smaller than the number of replicas.
std::vector<Shard> cut_batch(std::int64_t samples, int replicas);

}  // namespace lockstep
