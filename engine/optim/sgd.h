// Stochastic gradient descent, with momentum where asked for, in Keras' arithmetic.
#pragma once

#include <string>

#include "optim/optimizer.h"

namespace lockstep {

class SGDImpl : public OptimizerImpl {
 public:
  SGDImpl(float rate, float momentum, bool nesterov);

  std::string name() const override { return "sgd"; }
  int slots() const override { return momentum_ != 0 ? 1 : 0; }
  void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const override;
  float learning_rate(std::int64_t /*iteration*/) const override { return rate_; }
  void set_learning_rate(float rate) override { rate_ = rate; }

 private:
  float rate_, momentum_;
  bool nesterov_;
};

}  // namespace lockstep
