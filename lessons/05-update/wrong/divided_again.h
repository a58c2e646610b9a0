// Wrong: the sum is divided by the number of replicas once more.
// Says: Your step is 4 times too small
#pragma once

#include "given.h"

namespace lesson {

inline void sgd_update(float& w, float& velocity, float g, float learning_rate, float momentum) {
  velocity = momentum * velocity - learning_rate * g;
  w += velocity;
}

inline void adam_update(float& w, float& m, float& v, float g, std::int64_t iteration, float learning_rate, float beta1, float beta2,
                        float epsilon) {
  const float t = static_cast<float>(iteration + 1);
  m = beta1 * m + (1 - beta1) * g;
  v = beta2 * v + (1 - beta2) * g * g;
  const float rate = learning_rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  w -= rate * m / (std::sqrt(v) + epsilon);
}

inline void update_all(const std::vector<UpdateWork>& all, float learning_rate, float momentum) {
  for (const UpdateWork& work : all) {
    CHECK_CUDA(cudaEventRecord(work.reduced, work.communication));
    CHECK_CUDA(cudaStreamWaitEvent(work.replica.stream, work.reduced, 0));
    launch_update(work, learning_rate / static_cast<float>(all.size()), momentum);
  }
}

}  // namespace lesson
