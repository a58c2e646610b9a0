// Lesson 3: local gradients. Each replica works on its own samples.
#pragma once

#include "given.h"

namespace lesson {

// The loss of one sample is (p - y)^2, where p = w[0] x[0] + w[1] x[1] + ...
// Adds weight * (its gradient) to gradient[0 .. numbers-1].
inline void add_gradient(const float* x, float y, const float* w, std::int64_t numbers, float weight, float* gradient) {
  // Your code.
}

// By how much one sample of this shard counts, so that the local gradients of all replicas add up to that of the mean over the global
// batch.
inline float sample_weight(const Range& shard, std::int64_t global_batch) {
  return 0;  // Your code.
}

// Queues in each replica's stream the work that computes its `gradient`: zeros first, then launch_gradients(work, weight).
// A replica without samples gets zeros.
inline void local_gradients(const std::vector<LocalWork>& all, std::int64_t global_batch) {
  // Your code.
}

}  // namespace lesson
