// Lesson 7: the whole step.
#pragma once

#include "given.h"

namespace lesson {

// Phases 2 to 6 on one global batch of `samples` images x (784 floats each) with labels y.
// Returns the mean loss over these samples, before the update.
inline double train_step(Trainer& trainer, const float* x, const std::int32_t* y, std::int64_t samples, float learning_rate) {
  return 0;  // Your code.
}

// Trains for some epochs: phase 1 once, then in every epoch all samples, in batches of `batch`; the last one may be smaller.
// Returns for each epoch the mean loss over all its samples.
inline std::vector<double> train(Trainer& trainer, const float* x, const std::int32_t* y, std::int64_t samples, std::int64_t batch,
                                 int epochs, float learning_rate) {
  return {};  // Your code.
}

}  // namespace lesson
