// Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015), in Keras' arithmetic.
#pragma once

#include <string>

#include "engine/optim/rated_optimizer.h"

namespace lockstep {

class AdamImpl : public RatedOptimizer {
 public:
  // A decay above 0 makes it AdamW.
  AdamImpl(LearningRate rate, float beta_1, float beta_2, float epsilon, float weight_decay = 0);

  std::string name() const override { return weight_decay_ > 0 ? "adamw" : "adam"; }
  int slots() const override { return 2; }  // m, v
  void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const override;
  std::vector<std::pair<std::string, double>> arguments() const override {
    return {{"beta_1", beta_1_}, {"beta_2", beta_2_}, {"epsilon", epsilon_}, {"weight_decay", weight_decay_}};
  }

 private:
  float beta_1_, beta_2_, epsilon_, weight_decay_;
};

}  // namespace lockstep
