// Lesson 3: local gradients. Each replica works on its own samples.
#pragma once

#include "given.h"

namespace lesson {

inline void add_gradient(const float* x, float y, const float* w, std::int64_t numbers, float weight, float* gradient) {
  float p = 0;
  for (std::int64_t j = 0; j < numbers; ++j) p += w[j] * x[j];
  for (std::int64_t j = 0; j < numbers; ++j) gradient[j] += weight * 2 * (p - y) * x[j];
}

inline float sample_weight(const Range&, std::int64_t global_batch) { return 1.0F / static_cast<float>(global_batch); }

inline void local_gradients(const std::vector<LocalWork>& all, std::int64_t global_batch) {
  for (const LocalWork& work : all) {
    const std::size_t bytes = static_cast<std::size_t>(work.numbers) * sizeof(float);
    CHECK_CUDA(cudaMemsetAsync(work.gradient, 0, bytes, work.replica.stream));
    launch_gradients(work, sample_weight(work.shard, global_batch));
  }
}

}  // namespace lesson
