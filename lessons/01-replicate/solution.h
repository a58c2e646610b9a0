// Lesson 1: replicate. Every replica gets the weights of replica 0.
#pragma once

#include "lesson.h"

namespace lesson {

inline void replicate(const std::vector<Replica>& replicas) {
  const Replica& source = replicas[0];
  CHECK_CUDA(cudaEventRecord(source.ready, source.stream));  // the weights are written
  for (std::size_t r = 1; r < replicas.size(); ++r) {
    const Replica& replica = replicas[r];
    const std::size_t bytes = static_cast<std::size_t>(replica.count) * sizeof(float);
    CHECK_CUDA(cudaStreamWaitEvent(replica.stream, source.ready, 0));
    CHECK_CUDA(cudaMemcpyPeerAsync(replica.buffer, replica.device, source.buffer, source.device, bytes, replica.stream));
    CHECK_CUDA(cudaEventRecord(replica.ready, replica.stream));  // this copy is made
    CHECK_CUDA(cudaStreamWaitEvent(source.stream, replica.ready, 0));
  }
}

inline bool same_bits_on_host(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace lesson
