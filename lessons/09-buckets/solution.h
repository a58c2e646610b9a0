// Lesson 9: buckets, and all-reduce during backward.
#pragma once

#include "given.h"

namespace lesson {

inline std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& sizes, std::int64_t first_limit, std::int64_t limit) {
  std::vector<Bucket> buckets;
  Bucket open;
  for (const std::int64_t size : sizes) {
    ++open.layers;
    open.numbers.count += size;
    if (open.numbers.count < (buckets.empty() ? first_limit : limit)) continue;
    buckets.push_back(open);
    open = {open.first_layer + open.layers, 0, {open.numbers.first + open.numbers.count, 0}};
  }
  if (open.layers > 0) buckets.push_back(open);
  return buckets;
}

inline void backward_with_overlap(Backward& backward, const std::vector<Bucket>& buckets) {
  for (const Bucket& bucket : buckets) {
    for (int layer = bucket.first_layer; layer < bucket.first_layer + bucket.layers; ++layer) backward.gradient(layer);
    for (const OverlapReplica& one : backward.replicas()) {
      CHECK_CUDA(cudaEventRecord(one.replica.ready, one.replica.stream));
      CHECK_CUDA(cudaStreamWaitEvent(one.communication, one.replica.ready, 0));
    }
    backward.reduce(bucket);
  }
  for (const OverlapReplica& one : backward.replicas()) {
    CHECK_CUDA(cudaEventRecord(one.replica.ready, one.communication));
    CHECK_CUDA(cudaStreamWaitEvent(one.replica.stream, one.replica.ready, 0));
  }
}

inline double finish_time(const std::vector<double>& backward_ms, const std::vector<Bucket>& buckets, double latency_ms,
                          double ms_per_number) {
  double computed = 0, sent = 0;
  for (const Bucket& bucket : buckets) {
    for (int layer = bucket.first_layer; layer < bucket.first_layer + bucket.layers; ++layer)
      computed += backward_ms[static_cast<std::size_t>(layer)];
    sent = std::max(sent, computed) + latency_ms + static_cast<double>(bucket.numbers.count) * ms_per_number;
  }
  return sent;
}

}  // namespace lesson
