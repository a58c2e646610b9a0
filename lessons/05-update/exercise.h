// Lesson 5: update. Every replica applies the same optimizer to the same sum.
#pragma once

#include "given.h"

namespace lesson {

// One step of SGD with momentum for one weight, as on the page.
inline void sgd_update(float& w, float& velocity, float g, float learning_rate, float momentum) {
  // Your code.
}

// One step of Adam for one weight, as on the page. `iteration` is the number of updates made before this one: 0, 1, 2, ...
inline void adam_update(float& w, float& m, float& v, float g, std::int64_t iteration, float learning_rate, float beta1, float beta2,
                        float epsilon) {
  // Your code.
}

// Updates all replicas: launch_update(work, ...) for each, once its sum is there. The sum is being made in work.communication, and
// `reduced` is an event for you to use. The host does not wait.
inline void update_all(const std::vector<UpdateWork>& all, float learning_rate, float momentum) {
  // Your code.
}

}  // namespace lesson
