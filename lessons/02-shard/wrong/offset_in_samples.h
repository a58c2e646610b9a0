// Wrong: the offset is counted in samples, not in numbers.
// Says: Its number 0 should be 3 (sample number + position / 1000), and it is 0.003.
#pragma once
#include "lesson.h"
namespace lesson {
inline std::vector<Range> cut_batch(std::int64_t samples, int replicas) {
  std::vector<Range> shards;
  std::int64_t first = 0;
  for (int r = 0; r < replicas; ++r) {
    shards.push_back({first, samples / replicas + (r < samples % replicas ? 1 : 0)});
    first += shards.back().count;
  }
  return shards;
}
inline void send_shards(const float* x, std::int64_t numbers, const std::vector<Range>& shards, const std::vector<Replica>& replicas) {
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    const std::size_t bytes = static_cast<std::size_t>(shards[r].count * numbers) * sizeof(float);
    CHECK_CUDA(cudaMemcpyAsync(replicas[r].buffer, x + shards[r].first, bytes, cudaMemcpyHostToDevice, replicas[r].stream));
  }
}
}  // namespace lesson
