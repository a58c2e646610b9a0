// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015), in Keras' arithmetic.
#pragma once

#include <string>

#include "optim/optimizer.h"

namespace lockstep {

class AdamImpl : public OptimizerImpl {
 public:
  AdamImpl(float rate, float beta_1, float beta_2, float epsilon);

  std::string name() const override { return "adam"; }
  int slots() const override { return 2; }  // m, v
  void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const override;
  float learning_rate(std::int64_t /*iteration*/) const override { return rate_; }
  void set_learning_rate(float rate) override { rate_ = rate; }

 private:
  float rate_, beta_1_, beta_2_, epsilon_;
};

}  // namespace lockstep
