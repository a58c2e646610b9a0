// Nadam (Dozat, "Incorporating Nesterov momentum into Adam", 2016), in Keras' arithmetic.
#pragma once

#include <string>

#include "engine/optim/rated_optimizer.h"

namespace lockstep {

class NadamImpl : public RatedOptimizer {
 public:
  NadamImpl(LearningRate rate, float beta_1, float beta_2, float epsilon);

  std::string name() const override { return "nadam"; }
  int slots() const override { return 2; }  // m, v
  void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const override;
  std::vector<std::pair<std::string, double>> arguments() const override {
    return {{"beta_1", beta_1_}, {"beta_2", beta_2_}, {"epsilon", epsilon_}};
  }
  std::vector<std::pair<std::string, float>> extra_state(std::int64_t iterations) const override {
    return {{"momentum_product", momentum_product(iterations)}};
  }

 private:
  float momentum_product(std::int64_t iterations) const;

  float beta_1_, beta_2_, epsilon_;
};

}  // namespace lockstep
