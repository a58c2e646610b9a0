// Stochastic gradient descent, with momentum where asked for, in Keras' arithmetic.
#pragma once

#include <string>

#include "engine/optim/rated_optimizer.h"

namespace lockstep {

class SGDImpl : public RatedOptimizer {
 public:
  SGDImpl(LearningRate rate, float momentum, bool nesterov);

  std::string name() const override { return "sgd"; }
  int slots() const override { return momentum_ != 0 ? 1 : 0; }
  void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const override;
  std::vector<std::pair<std::string, double>> arguments() const override {
    return {{"momentum", momentum_}, {"nesterov", nesterov_ ? 1 : 0}};
  }

 private:
  float momentum_;
  bool nesterov_;
};

}  // namespace lockstep
