// Wrong: the ring goes on while the right neighbour still reads.
// Says: 'the next step' on stream
#pragma once

#include "given.h"

namespace lesson {

// `to` takes a range of `from`'s buffer, once what `from` last marked as ready is there.
inline void take(const Replica& to, const Replica& from, Range range, bool add_it) {
  CHECK_CUDA(cudaStreamWaitEvent(to.stream, from.ready, 0));
  if (range.count == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(range.count) * sizeof(float);
  float* const target = (add_it ? to.staging : to.buffer) + range.first;
  CHECK_CUDA(cudaMemcpyPeerAsync(target, to.device, from.buffer + range.first, from.device, bytes, to.stream));
  if (add_it) add(to, to.staging + range.first, to.buffer + range.first, range.count);
}

inline void mark_ready(const Replica& replica) { CHECK_CUDA(cudaEventRecord(replica.ready, replica.stream)); }

inline void reduce_to_one_device(const std::vector<Replica>& replicas) {
  const Replica& first = replicas[0];
  for (std::size_t r = 1; r < replicas.size(); ++r) {
    mark_ready(replicas[r]);
    take(first, replicas[r], {0, first.count}, true);
  }
  mark_ready(first);
  for (std::size_t r = 1; r < replicas.size(); ++r) {
    take(replicas[r], first, {0, first.count}, false);
    mark_ready(replicas[r]);
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, replicas[r].ready, 0));
  }
}

inline void ring_all_reduce(const std::vector<Replica>& replicas) {
  const int n = static_cast<int>(replicas.size());
  const std::vector<Range> chunks = cut(replicas[0].count, n);
  const auto around = [n](int i) { return static_cast<std::size_t>((i % n + n) % n); };
  for (const bool add_it : {true, false}) {
    for (int step = 0; step < n - 1; ++step) {
      for (const Replica& replica : replicas) mark_ready(replica);
      for (int r = 0; r < n; ++r) take(replicas[around(r)], replicas[around(r - 1)], chunks[around(r - step - (add_it ? 1 : 0))], add_it);
    }
  }
}

inline void tree_all_reduce(const std::vector<Replica>& replicas) {
  const std::size_t n = replicas.size();
  std::size_t distance = 1;
  for (; distance < n; distance *= 2) {
    for (std::size_t r = 0; r + distance < n; r += 2 * distance) {
      mark_ready(replicas[r + distance]);
      take(replicas[r], replicas[r + distance], {0, replicas[r].count}, true);
    }
  }
  while ((distance /= 2) > 0) {
    for (std::size_t r = 0; r + distance < n; r += 2 * distance) {
      mark_ready(replicas[r]);
      take(replicas[r + distance], replicas[r], {0, replicas[r].count}, false);
      mark_ready(replicas[r + distance]);
      CHECK_CUDA(cudaStreamWaitEvent(replicas[r].stream, replicas[r + distance].ready, 0));
    }
  }
}

}  // namespace lesson
