// Lesson 2: shard. The global batch is cut among the replicas.
#pragma once

#include "lesson.h"

namespace lesson {

// Cuts samples 0 .. samples-1 into one range for each replica, in the order of replicas.
//
// - Every sample is in exactly one range, and ranges follow each other: the next begins where the last one ended.
// - Sizes differ by at most one, larger ones first.
// - There may be fewer samples than replicas: then some ranges have a count of 0.
inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  return std::vector<Range>(static_cast<std::size_t>(replicas));  // Your code.
}

// Copies each replica's samples from the host to its buffer, in its own stream, without waiting.
//
// `x` holds all samples of the global batch one after another, `numbers` floats each. A replica with no samples gets no copy.
inline void send_shards(const float* x, std::int64_t numbers, const std::vector<Range>& shards, const std::vector<Replica>& replicas) {
  // Your code: cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream)
}

}  // namespace lesson
