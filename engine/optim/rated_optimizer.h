// What all our optimizers share: a learning rate, perhaps a schedule, and how they see sparse gradients.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "checks.h"
#include "lockstep/schedules.h"
#include "optim/optimizer.h"

namespace lockstep {

class RatedOptimizer : public OptimizerImpl {
 public:
  RatedOptimizer(const std::string& title, LearningRate rate) : rate_(std::move(rate)) {
    if (!rate_.is_schedule()) check_rate(title, rate_.at(0));
  }
  float learning_rate(std::int64_t iteration) const override { return rate_.at(iteration - 1); }
  void set_learning_rate(float rate) override {
    if (rate_.is_schedule()) throw Error("The learning rate of " + name() + " follows a schedule: it can't be set");
    rate_ = rate;
  }
  bool sums_squares() const override { return sums_squares_; }
  void set_sums_squares(bool yes) override { sums_squares_ = yes; }

 protected:
  // A run of the flat buffers: all of them, or a sparse variable with its sums of squares, or what lies between two of those.
  struct Run {
    Tensor gradient, squares, weights;
    std::vector<Tensor> slots;
  };
  template <typename Function>
  static void each_run(const VariableStore& variables, Function function) {
    const auto part = [](const Tensor& flat, std::int64_t first, std::int64_t count) { return Tensor(flat.f32() + first, Shape{count}); };
    const auto run = [&](std::int64_t first, std::int64_t count, const Tensor& squares) {
      if (count == 0) return;
      Run made{part(variables.gradients(), first, count), squares, part(variables.weights(), first, count), {}};
      for (int k = 0; k < variables.slots(); ++k) made.slots.push_back(part(variables.slot(k), first, count));
      function(made);
    };
    const VariableLayout& layout = variables.layout();
    std::int64_t at = 0;
    for (const int variable : layout.ready_order()) {  // the order in memory
      const Tensor squares = variables.squares(variable);
      if (!squares.defined()) continue;
      run(at, layout.offset(variable) - at, Tensor());
      run(layout.offset(variable), squares.size(), squares.reshaped({squares.size()}));
      at = layout.offset(variable) + squares.size();
    }
    run(at, layout.trainable_elements() - at, Tensor());
  }

 private:
  LearningRate rate_;
  bool sums_squares_ = false;
};

}  // namespace lockstep
