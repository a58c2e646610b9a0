// Optimizers by name, and the public handles of lockstep/optimizers.h.
#include "lockstep/optimizers.h"

#include "adam.h"
#include "checks.h"
#include "sgd.h"

namespace lockstep {

std::shared_ptr<OptimizerImpl> make_optimizer(const std::string& name) {
  if (name == "adam") return Adam().impl();
  if (name == "sgd") return SGD().impl();
  throw Error("There is no optimizer \"" + name + "\"; there are: adam, sgd");
}

Optimizer::Optimizer(const std::string& name) : impl_(make_optimizer(name)) {}
std::string Optimizer::name() const { return impl_->name(); }
float Optimizer::learning_rate() const { return impl_->learning_rate(1); }
void Optimizer::set_learning_rate(float rate) {
  check_rate("The optimizer " + impl_->name(), rate);
  impl_->set_learning_rate(rate);
}

SGD::SGD(float learning_rate, float momentum, bool nesterov) : Optimizer(std::make_shared<SGDImpl>(learning_rate, momentum, nesterov)) {}

Adam::Adam(float learning_rate, float beta_1, float beta_2, float epsilon)
    : Optimizer(std::make_shared<AdamImpl>(learning_rate, beta_1, beta_2, epsilon)) {}

}  // namespace lockstep
