#include "engine/optim/adam.h"

#include <cmath>

#include "engine/ops/nadam.h"
#include "engine/ops/optimizer_update.h"
#include "engine/optim/checks.h"

namespace lockstep {

AdamImpl::AdamImpl(LearningRate rate, float beta_1, float beta_2, float epsilon, float weight_decay)
    : RatedOptimizer("Adam", std::move(rate)), beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon), weight_decay_(weight_decay) {
  if (!(weight_decay >= 0)) throw Error("AdamW: weight_decay must not be below 0, not " + std::to_string(weight_decay));
  check_range("Adam", "beta_1", beta_1);
  check_range("Adam", "beta_2", beta_2);
  if (!(epsilon > 0)) throw Error("Adam: epsilon must be positive, not " + std::to_string(epsilon));
}

// Keras casts the step to float32 and takes the powers in float32; so do we, to follow it to the last bits.
void AdamImpl::update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const {
  if (variables.layout().trainable_elements() == 0) return;
  variables.make_slots(slots());
  clip(context, variables);
  const auto t = static_cast<float>(iteration);
  const float power_1 = std::pow(beta_1_, t);
  const float power_2 = std::pow(beta_2_, t);
  ops::AdamStep step;
  step.alpha = learning_rate(iteration) * std::sqrt(1.0F - power_2) / (1.0F - power_1);
  step.beta1 = beta_1_;
  step.beta2 = beta_2_;
  step.epsilon = epsilon_;
  if (weight_decay_ > 0) ops::decay_weights(context, weight_decay_, learning_rate(iteration), variables.weights());
  each_run(variables,
           [&](const Run& run) { ops::adam(context, step, run.gradient, run.squares, run.weights, run.slots[0], run.slots[1]); });
}

}  // namespace lockstep
