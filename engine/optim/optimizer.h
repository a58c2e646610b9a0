// Optimizers: the same arithmetic on every replica, on flat buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/variables.h"
#include "engine/ops/op_context.h"
#include "lockstep/schedules.h"

namespace lockstep {

class Optimizer;

struct Clipping {
  enum class Kind { none, value, norm, global_norm };
  Kind kind = Kind::none;
  float limit = 0;
};

class OptimizerImpl {
 public:
  virtual ~OptimizerImpl() = default;
  virtual std::string name() const = 0;  // "adam"
  virtual int slots() const = 0;         // flat buffers it keeps beside the weights
  // Applies gradients() to weights() of one replica; `iteration` counts from 1.
  virtual void update(const OpContext& context, VariableStore& variables, std::int64_t iteration) const = 0;
  virtual float learning_rate(std::int64_t iteration) const = 0;
  virtual void set_learning_rate(float rate) = 0;  // from the next update on
  // Does the second moment of sparse variables take sums of squares instead of squares of sums? Then the step makes them.
  virtual bool sums_squares() const { return false; }
  virtual void set_sums_squares(bool /*yes*/) {}
  virtual void set_clipping(const Clipping& /*how*/) {}
  virtual Clipping clipping() const { return {}; }
  virtual bool follows_schedule() const { return false; }  // then its rate can't be set
  virtual LearningRate::Description schedule() const { return {}; }
  int accumulation_steps() const { return accumulation_steps_; }  // batches to an update
  void set_accumulation_steps(int steps) { accumulation_steps_ = steps; }
  // Numbers that Keras keeps beside the slots, after that many iterations: {"momentum_product", 0.25}. They follow from the iterations
  // here, so they are written to files and not read back.
  virtual std::vector<std::pair<std::string, float>> extra_state(std::int64_t /*iterations*/) const { return {}; }
  // Keras' constructor arguments beside the learning rate, for files: {"beta_1", 0.9}, ...
  virtual std::vector<std::pair<std::string, double>> arguments() const { return {}; }

 private:
  int accumulation_steps_ = 1;
};

std::shared_ptr<OptimizerImpl> make_optimizer(const std::string& name);  // "adam", ...; an unknown name is an Error with the known ones

const char* keras_class_of(const OptimizerImpl& optimizer);  // "Adam"
// As a file describes it: Keras' class ("Adam") and its arguments by name, with a default for one that is missing.
using OptimizerArguments = std::function<float(const char* name, float otherwise)>;
Optimizer make_optimizer(const std::string& keras_class, const LearningRate& rate, const OptimizerArguments& arguments);

}  // namespace lockstep
