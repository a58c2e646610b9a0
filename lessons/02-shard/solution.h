// Lesson 2: shard. The global batch is cut among the replicas.
#pragma once

#include "lesson.h"

namespace lesson {

inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  std::vector<Range> shards;
  const std::int64_t share = samples / replicas;
  const std::int64_t larger = samples % replicas;  // this many replicas get one more
  std::int64_t first = 0;
  for (int r = 0; r < replicas; ++r) {
    const std::int64_t count = share + (r < larger ? 1 : 0);
    shards.push_back({first, count});
    first += count;
  }
  return shards;
}

inline void send_shards(const float* x, std::int64_t numbers, const std::vector<Range>& shards, const std::vector<Replica>& replicas) {
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    if (shards[r].count == 0) continue;
    const std::size_t bytes = static_cast<std::size_t>(shards[r].count * numbers) * sizeof(float);
    CHECK_CUDA(cudaMemcpyAsync(replicas[r].buffer, x + shards[r].first * numbers, bytes, cudaMemcpyHostToDevice, replicas[r].stream));
  }
}

}  // namespace lesson
