// Optimizers by name, and the public handles of lockstep/optimizers.h.
#include "lockstep/optimizers.h"

#include "engine/optim/adam.h"
#include "engine/optim/checks.h"
#include "engine/optim/nadam.h"
#include "engine/optim/sgd.h"

namespace lockstep {

namespace {

using Arguments = OptimizerArguments;

struct Entry {
  const char* name;         // in compile("adam", ...)
  const char* keras_class;  // in files
  Optimizer (*make)();      // with Keras' defaults
  Optimizer (*make_from)(const LearningRate& rate, const Arguments& get);
};

// Every optimizer; a new one is a row here.
const Entry kOptimizers[] = {
    {"adam", "Adam", []() -> Optimizer { return Adam(); },
     [](const LearningRate& rate, const Arguments& get) -> Optimizer {
       return Adam(rate, get("beta_1", 0.9F), get("beta_2", 0.999F), get("epsilon", 1e-7F));
     }},
    {"adamw", "AdamW", []() -> Optimizer { return AdamW(); },
     [](const LearningRate& rate, const Arguments& get) -> Optimizer {
       return AdamW(rate, get("weight_decay", 0.004F), get("beta_1", 0.9F), get("beta_2", 0.999F), get("epsilon", 1e-7F));
     }},
    {"nadam", "Nadam", []() -> Optimizer { return Nadam(); },
     [](const LearningRate& rate, const Arguments& get) -> Optimizer {
       return Nadam(rate, get("beta_1", 0.9F), get("beta_2", 0.999F), get("epsilon", 1e-7F));
     }},
    {"sgd", "SGD", []() -> Optimizer { return SGD(); },
     [](const LearningRate& rate, const Arguments& get) -> Optimizer { return SGD(rate, get("momentum", 0), get("nesterov", 0) != 0); }},
};

}  // namespace

std::shared_ptr<OptimizerImpl> make_optimizer(const std::string& name) {
  std::string known;
  for (const Entry& entry : kOptimizers) {
    if (name == entry.name) return entry.make().impl();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error("There is no optimizer \"" + name + "\"; there are: " + known);
}

const char* keras_class_of(const OptimizerImpl& optimizer) {
  for (const Entry& entry : kOptimizers)
    if (optimizer.name() == entry.name) return entry.keras_class;
  throw Error("The optimizer " + optimizer.name() + " has no row in kOptimizers");
}

Optimizer make_optimizer(const std::string& keras_class, const LearningRate& rate, const OptimizerArguments& arguments) {
  for (const Entry& entry : kOptimizers)
    if (keras_class == entry.keras_class) return entry.make_from(rate, arguments);
  throw Error("the optimizer " + keras_class + " is not supported");
}

Optimizer::Optimizer(const std::string& name) : Handle(make_optimizer(name)) {}
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
