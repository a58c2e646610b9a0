#include "engine/optim/nadam.h"

#include <cmath>

#include "engine/ops/nadam.h"
#include "engine/optim/checks.h"

namespace lockstep {

NadamImpl::NadamImpl(LearningRate rate, float beta_1, float beta_2, float epsilon)
    : RatedOptimizer("Nadam", std::move(rate)), beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon) {
  check_range("Nadam", "beta_1", beta_1);
  check_range("Nadam", "beta_2", beta_2);
  if (!(epsilon > 0)) throw Error("Nadam: epsilon must be positive, not " + std::to_string(epsilon));
}

// u_1 * ... * u_t with u_t = beta_1 (1 - 0.96^t / 2). Keras keeps the product from step to step; computed again it has the same bits and
// needs no state. It is 0 after some hundred steps, so the loop stays short.
float NadamImpl::momentum_product(std::int64_t iterations) const {
  float product = 1;
  for (std::int64_t t = 1; t <= iterations && product != 0; ++t)
    product = product * beta_1_ * (1.0F - 0.5F * std::pow(0.96F, static_cast<float>(t)));
  return product;
}

// Keras takes everything here in float32, 1 - beta included.
void NadamImpl::update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const {
  if (variables.layout().trainable_elements() == 0) return;
  variables.make_slots(slots());
  clip(context, variables);
  const auto momentum = [this](std::int64_t t) { return beta_1_ * (1.0F - 0.5F * std::pow(0.96F, static_cast<float>(t))); };
  const float product = momentum_product(iteration);
  ops::NadamStep step;
  step.one_minus_beta1 = 1.0F - beta_1_;
  step.one_minus_beta2 = 1.0F - beta_2_;
  step.next_momentum = momentum(iteration + 1);
  step.one_minus_momentum = 1.0F - momentum(iteration);
  step.one_minus_product = 1.0F - product;
  step.one_minus_next_product = 1.0F - product * momentum(iteration + 1);
  step.one_minus_beta2_power = 1.0F - std::pow(beta_2_, static_cast<float>(iteration));
  step.rate = learning_rate(iteration);
  step.epsilon = epsilon_;
  each_run(variables,
           [&](const Run& run) { ops::nadam(context, step, run.gradient, run.squares, run.weights, run.slots[0], run.slots[1]); });
}

}  // namespace lockstep
