#pragma once
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"

namespace lockstep {

// Four images of two classes, 32 x 32: after `steps` more steps on the same four the loss is below the first step's.
inline void learns_by_heart(Model model, const Adam& adam, int steps) {
  Array x(Shape{4, 32, 32, 3}), y(Shape{4}, std::vector<std::int32_t>{0, 1, 0, 1});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i % 251) / 125 - 1;
  model.compile(adam, SparseCategoricalCrossentropy(), {"accuracy"});
  const double first = model.train_on_batch(x, y).at("loss");
  double last = first;
  for (int step = 0; step < steps; ++step) last = model.train_on_batch(x, y).at("loss");
  EXPECT_LT(last, first);
}

}  // namespace lockstep
