// Lesson 6: barrier. Replicas meet, the host waits, and all replicas are compared.
#pragma once

#include "lesson.h"

namespace lesson {

inline void meet(const std::vector<Replica>& replicas) {
  for (const Replica& replica : replicas) CHECK_CUDA(cudaEventRecord(replica.ready, replica.stream));
  for (const Replica& replica : replicas) {
    for (const Replica& other : replicas) CHECK_CUDA(cudaStreamWaitEvent(replica.stream, other.ready, 0));
  }
}

inline void wait_for_all(const std::vector<Replica>& replicas) {
  for (const Replica& replica : replicas) CHECK_CUDA(cudaStreamSynchronize(replica.stream));
}

inline std::uint64_t checksum(const std::vector<float>& values) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return hash;
}

inline int first_different(const std::vector<std::uint64_t>& checksums) {
  for (std::size_t r = 1; r < checksums.size(); ++r) {
    if (checksums[r] != checksums[0]) return static_cast<int>(r);
  }
  return -1;
}

inline std::vector<double> descend(double start, double learning_rate, int delay, int steps) {
  std::vector<double> w{start};
  for (int t = 0; t < steps; ++t) {
    const double old = w[static_cast<std::size_t>(std::max(0, t - delay))];
    w.push_back(w.back() - learning_rate * 2 * old);
  }
  return w;
}

}  // namespace lesson
