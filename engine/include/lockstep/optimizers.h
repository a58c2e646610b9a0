// Optimizers, with Keras' names, defaults and arithmetic.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace lockstep {

class OptimizerImpl;

// A handle: copies are the same optimizer. A name stands for one with its defaults: compile("adam", ...).
class Optimizer {
 public:
  Optimizer(const char* name) : Optimizer(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  Optimizer(const std::string& name);                            // NOLINT(google-explicit-constructor): "adam", "sgd"

  std::string name() const;
  float learning_rate() const;
  void set_learning_rate(float rate);  // from the next step on
  const std::shared_ptr<OptimizerImpl>& impl() const { return impl_; }

 protected:
  explicit Optimizer(std::shared_ptr<OptimizerImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<OptimizerImpl> impl_;
};

class SGD : public Optimizer {
 public:
  explicit SGD(float learning_rate = 0.01F, float momentum = 0.0F, bool nesterov = false);
};

class Adam : public Optimizer {
 public:
  explicit Adam(float learning_rate = 1e-3F, float beta_1 = 0.9F, float beta_2 = 0.999F, float epsilon = 1e-7F);
};

}  // namespace lockstep
