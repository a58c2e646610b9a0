// What all our optimizers share: a learning rate, perhaps a schedule, and how they see sparse gradients.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/clip.h"
#include "engine/optim/checks.h"
#include "engine/optim/optimizer.h"
#include "lockstep/schedules.h"

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
  bool follows_schedule() const override { return rate_.is_schedule(); }
  LearningRate::Description schedule() const override { return rate_.description(); }
  bool sums_squares() const override { return sums_squares_; }
  void set_sums_squares(bool yes) override {
    refuse_both(yes, clipping_);
    sums_squares_ = yes;
  }
  Clipping clipping() const override { return clipping_; }
  void set_clipping(const Clipping& how) override {
    if (clipping_.kind != Clipping::Kind::none) throw Error("Only one of clipvalue, clipnorm and global_clipnorm can be set");
    if (!(how.limit > 0)) throw Error("Gradients can be clipped to a limit above 0, not " + std::to_string(how.limit));
    refuse_both(sums_squares_, how);
    clipping_ = how;
  }

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

  // Every update begins with it.
  void clip(const OpContext& context, VariableStore& variables) const {
    if (clipping_.kind == Clipping::Kind::none) return;
    OpContext with_scratch = context;
    with_scratch.scratch = variables.scratch(ops::clip_norm_scratch());
    switch (clipping_.kind) {
      case Clipping::Kind::value:
        return ops::clip_value(context, clipping_.limit, variables.gradients());
      case Clipping::Kind::global_norm:
        return ops::clip_norm(with_scratch, clipping_.limit, variables.gradients());  // padding is zero
      default:
        for (const int variable : variables.layout().ready_order())
          ops::clip_norm(with_scratch, clipping_.limit, variables.gradient(variable));
    }
  }

 private:
  static void refuse_both(bool squares, const Clipping& clipping) {
    if (squares && clipping.kind != Clipping::Kind::none)
      throw Error("embedding_gradients(\"keras\") and clipping can't be used together: the squares are made before gradients are clipped");
  }

  Clipping clipping_;
  LearningRate rate_;
  bool sums_squares_ = false;
};

}  // namespace lockstep
