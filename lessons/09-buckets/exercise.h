// Lesson 9: buckets, and all-reduce during backward.
#pragma once

#include "given.h"

namespace lesson {

// Packs layers into buckets, in this order. sizes[k] is how many numbers the k-th layer has, in the order in which backward makes them
// ready. A bucket is closed as soon as it has reached its limit: `first_limit` numbers for bucket 0, `limit` for all others. What is left
// at the end is a bucket, too.
inline std::vector<Bucket> make_buckets(const std::vector<std::int64_t>& sizes, std::int64_t first_limit, std::int64_t limit) {
  return {};  // Your code.
}

// Runs backward.gradient(0), gradient(1), ... and reduces each bucket as soon as its last layer is ready.
// - backward.reduce(bucket) works in the communication streams. They must wait for the gradients of the bucket, and for nothing more.
// - Later work in a compute stream may use the sums.
// - The host does not wait. Each replica has an event, replica.ready; it may be recorded many times.
inline void backward_with_overlap(Backward& backward, const std::vector<Bucket>& buckets) {
  // Your code.
}

// When is the last bucket reduced? Layer k's gradient takes backward_ms[k], one after another from time 0. A bucket is sent when its last
// layer is ready and the bucket before it has been sent; it takes latency_ms + (its numbers) * ms_per_number.
inline double finish_time(const std::vector<double>& backward_ms, const std::vector<Bucket>& buckets, double latency_ms,
                          double ms_per_number) {
  return 0;  // Your code.
}

}  // namespace lesson
