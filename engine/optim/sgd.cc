#include "engine/optim/sgd.h"

#include "engine/ops/optimizer_update.h"
#include "engine/optim/checks.h"

namespace lockstep {

SGDImpl::SGDImpl(LearningRate rate, float momentum, bool nesterov)
    : RatedOptimizer("SGD", std::move(rate)), momentum_(momentum), nesterov_(nesterov) {
  if (!(momentum >= 0 && momentum <= 1)) throw Error("SGD: momentum must be between 0 and 1, not " + std::to_string(momentum));
}

void SGDImpl::update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const {
  if (variables.layout().trainable_elements() == 0) return;
  variables.make_slots(slots());
  clip(context, variables);
  ops::SgdStep step;
  step.rate = learning_rate(iteration);
  step.momentum = momentum_;
  step.nesterov = nesterov_;
  ops::sgd(context, step, variables.gradients(), variables.weights(), slots() > 0 ? variables.slot(0) : Tensor());
}

}  // namespace lockstep
