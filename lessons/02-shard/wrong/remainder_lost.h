// Wrong: the remainder is forgotten: every replica gets samples / replicas.
// Says: nobody gets sample 8, and 2 are lost in all
#pragma once
#include "lesson.h"
namespace lesson {
inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  std::vector<Range> shards;
  const std::int64_t count = samples / replicas;
  for (int r = 0; r < replicas; ++r) shards.push_back({r * count, count});
  return shards;
}
inline void send_shards(const float* x, std::int64_t numbers, const std::vector<Range>& shards, const std::vector<Replica>& replicas) {
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    const std::size_t bytes = static_cast<std::size_t>(shards[r].count * numbers) * sizeof(float);
    if (bytes == 0) continue;
    CHECK_CUDA(cudaMemcpyAsync(replicas[r].buffer, x + shards[r].first * numbers, bytes, cudaMemcpyHostToDevice, replicas[r].stream));
  }
}
}  // namespace lesson
