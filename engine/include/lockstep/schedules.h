// Learning rates: a number, or one that changes from step to step, with Keras' names and formulas.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

// Adam(1e-3F), or Adam(CosineDecay(1e-3F, 1000)).
class LearningRate {
 public:
  // Keras' class and its arguments, so that files can keep a schedule; no class for a function of one's own.
  struct Description {
    std::string class_name;
    std::vector<std::pair<std::string, std::vector<double>>> arguments;
  };

  LearningRate(float rate);  // NOLINT(google-explicit-constructor): a number is how people write it
  explicit LearningRate(std::function<float(std::int64_t step)> schedule);
  LearningRate(std::function<float(std::int64_t step)> schedule, Description description);

  float at(std::int64_t step) const;  // step: optimizer steps taken before this one
  bool is_schedule() const { return schedule_ != nullptr; }
  const Description& description() const& { return description_; }
  Description description() && { return std::move(description_); }

 private:
  float rate_ = 0;
  std::shared_ptr<const std::function<float(std::int64_t)>> schedule_;
  Description description_;
};

// initial * decay_rate ^ (step / decay_steps); with staircase the exponent is a whole number.
class ExponentialDecay : public LearningRate {
 public:
  ExponentialDecay(float initial_learning_rate, std::int64_t decay_steps, float decay_rate, bool staircase = false);
};

// Half a cosine from initial to alpha * initial over decay_steps, then level (Loshchilov and Hutter 2017).
class CosineDecay : public LearningRate {
 public:
  CosineDecay(float initial_learning_rate, std::int64_t decay_steps, float alpha = 0.0F);
};

// values[0] up to and including step boundaries[0], then values[1], ...
class PiecewiseConstantDecay : public LearningRate {
 public:
  PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<float>& values);
};

}  // namespace lockstep
