// Wrong: the larger shards come last.
// Says: cut_batch(10, 4) gives [0, 2) [2, 4) [4, 7) [7, 10): replica 1 has 2 samples and replica 2 has more: 3.
#pragma once
#include "lesson.h"
namespace lesson {
inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  std::vector<Range> shards;
  for (std::int64_t r = 0; r < replicas; ++r) {
    const std::int64_t count = samples / replicas + (r >= replicas - samples % replicas ? 1 : 0);
    shards.push_back({r == 0 ? 0 : shards.back().first + shards.back().count, count});
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
