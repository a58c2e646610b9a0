// Optimizers by name, and the public handles of lockstep/optimizers.h.
#include "lockstep/optimizers.h"

#include "engine/optim/adam.h"
#include "engine/optim/checks.h"
#include "engine/optim/nadam.h"
#include "engine/optim/sgd.h"

namespace lockstep {

std::shared_ptr<OptimizerImpl> make_optimizer(const std::string& name) {
  if (name == "adam") return Adam().impl();
  if (name == "adamw") return AdamW().impl();
  if (name == "nadam") return Nadam().impl();
  if (name == "sgd") return SGD().impl();
  throw Error("There is no optimizer \"" + name + "\"; there are: adam, adamw, nadam, sgd");
}

Optimizer::Optimizer(const std::string& name) : impl_(make_optimizer(name)) {}
std::string Optimizer::name() const { return impl_->name(); }
float Optimizer::learning_rate() const { return impl_->learning_rate(1); }
void Optimizer::set_learning_rate(float rate) {
  check_rate("The optimizer " + impl_->name(), rate);
  impl_->set_learning_rate(rate);
}

Optimizer Optimizer::gradient_accumulation_steps(int steps) const {
  if (steps < 1) throw Error("gradient_accumulation_steps: at least 1, not " + std::to_string(steps));
  impl_->set_accumulation_steps(steps);
  return *this;
}

Optimizer Optimizer::embedding_gradients(const std::string& how) const {
  if (how != "textbook" && how != "keras") throw Error("embedding_gradients: \"textbook\" or \"keras\", not \"" + how + "\"");
  impl_->set_sums_squares(how == "keras");
  return *this;
}

Optimizer Optimizer::clipvalue(float limit) const { return impl_->set_clipping({Clipping::Kind::value, limit}), *this; }
Optimizer Optimizer::clipnorm(float limit) const { return impl_->set_clipping({Clipping::Kind::norm, limit}), *this; }
Optimizer Optimizer::global_clipnorm(float limit) const { return impl_->set_clipping({Clipping::Kind::global_norm, limit}), *this; }

SGD::SGD(LearningRate learning_rate, float momentum, bool nesterov)
    : Optimizer(std::make_shared<SGDImpl>(learning_rate, momentum, nesterov)) {}

AdamW::AdamW(LearningRate learning_rate, float weight_decay, float beta_1, float beta_2, float epsilon)
    : Optimizer(std::make_shared<AdamImpl>(learning_rate, beta_1, beta_2, epsilon, weight_decay)) {}

Nadam::Nadam(LearningRate learning_rate, float beta_1, float beta_2, float epsilon)
    : Optimizer(std::make_shared<NadamImpl>(learning_rate, beta_1, beta_2, epsilon)) {}

Adam::Adam(LearningRate learning_rate, float beta_1, float beta_2, float epsilon)
    : Optimizer(std::make_shared<AdamImpl>(learning_rate, beta_1, beta_2, epsilon)) {}

}  // namespace lockstep
