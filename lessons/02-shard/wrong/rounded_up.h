// Wrong: rounded up, and the last one takes what is left.
// Says: the largest has 3 samples and the smallest 1. All replicas wait for the largest.
#pragma once
#include "lesson.h"
namespace lesson {
inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  std::vector<Range> shards;
  const std::int64_t share = (samples + replicas - 1) / replicas;
  for (int r = 0; r < replicas; ++r) {
    const std::int64_t first = std::min(samples, r * share);
    shards.push_back({first, std::min(share, samples - first)});
  }
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
