// Wrong: right numbers, but the host stands still for every copy. And values are compared, not bits.
// Says: replicate() made the host wait 4 times
#pragma once
#include "lesson.h"
namespace lesson {
inline void replicate(const std::vector<Replica>& replicas) {
  CHECK_CUDA(cudaStreamSynchronize(replicas[0].stream));
  for (std::size_t r = 1; r < replicas.size(); ++r) {
    const Replica& to = replicas[r];
    CHECK_CUDA(cudaMemcpyPeerAsync(to.buffer, to.device, replicas[0].buffer, replicas[0].device, static_cast<std::size_t>(to.count) * 4,
                                   to.stream));
    CHECK_CUDA(cudaStreamSynchronize(to.stream));
  }
}
inline bool same_bits_on_host(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * 4) == 0;
}
}  // namespace lesson
