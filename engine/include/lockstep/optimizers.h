// Optimizers, with Keras' names, defaults and arithmetic.
#pragma once

#include <string>

#include "lockstep/handle.h"
#include "lockstep/schedules.h"

namespace lockstep {

class OptimizerImpl;

// A name stands for one with its defaults: compile("adam", ...).
class Optimizer : public Handle<OptimizerImpl> {
 public:
  Optimizer(const char* name) : Optimizer(std::string(name)) {}  // NOLINT(google-explicit-constructor)
  Optimizer(const std::string& name);                            // NOLINT(google-explicit-constructor): "adam", "adamw", "nadam", "sgd"

  std::string name() const;
  float learning_rate() const;         // of the first step, where it follows a schedule
  void set_learning_rate(float rate);  // from the next step on; an Error where the rate follows a schedule

  // Gradients are clipped before the update, by one of these: every element to [-limit, limit]; every variable's gradient to that
  // Euclidean norm; or all of them together.
  Optimizer clipvalue(float limit) const;
  Optimizer clipnorm(float limit) const;
  Optimizer global_clipnorm(float limit) const;

  // Updates once in so many batches, with the mean of their gradients: the batch of a larger GPU. `iterations` counts updates.
  // It is not stored in files.
  Optimizer gradient_accumulation_steps(int steps) const;

  // How Adam and its kin see the gradient of an Embedding. A word that stands n times in a batch has n gradients, g1 ... gn, for its row.
  //   "textbook" (default): the row's gradient is their sum, and its second moment takes (g1 + ... + gn)^2, as PyTorch does and as the
  //     same model written with one-hot matrices would.
  //   "keras": Keras 3 on TensorFlow squares before it sums, so the second moment takes g1^2 + ... + gn^2. For frequent words that
  //     is smaller (up to n times), so their rows take larger steps. For numbers equal to Keras'.
  Optimizer embedding_gradients(const std::string& how) const;

 protected:
  friend class Model;
  explicit Optimizer(std::shared_ptr<OptimizerImpl> impl) : Handle(std::move(impl)) {}
};

class SGD : public Optimizer {
 public:
  explicit SGD(LearningRate learning_rate = 0.01F, float momentum = 0.0F, bool nesterov = false);
};

class Adam : public Optimizer {
 public:
  explicit Adam(LearningRate learning_rate = 1e-3F, float beta_1 = 0.9F, float beta_2 = 0.999F, float epsilon = 1e-7F);
};

// Adam whose weights also shrink by learning_rate * weight_decay of themselves each step (Loshchilov and Hutter 2019).
class AdamW : public Optimizer {
 public:
  explicit AdamW(LearningRate learning_rate = 1e-3F, float weight_decay = 0.004F, float beta_1 = 0.9F, float beta_2 = 0.999F,
                 float epsilon = 1e-7F);
};

// Adam with Nesterov's momentum (Dozat 2016), whose momentum warms up as beta_1 * (1 - 0.96^t / 2).
class Nadam : public Optimizer {
 public:
  explicit Nadam(LearningRate learning_rate = 1e-3F, float beta_1 = 0.9F, float beta_2 = 0.999F, float epsilon = 1e-7F);
};

}  // namespace lockstep
