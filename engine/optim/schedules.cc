// Learning-rate schedules, in double, rounded once.
#include "lockstep/schedules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/optim/checks.h"

namespace lockstep {
namespace {

void check_steps(const char* schedule, std::int64_t steps) {
  if (steps <= 0) throw Error(std::string(schedule) + ": decay_steps must be positive, not " + std::to_string(steps));
}

LearningRate exponential(float initial, std::int64_t steps, float decay, bool staircase) {
  check_steps("ExponentialDecay", steps);
  check_rate("ExponentialDecay", initial);
  const LearningRate::Description described{"ExponentialDecay",
                                            {{"initial_learning_rate", {initial}},
                                             {"decay_steps", {static_cast<double>(steps)}},
                                             {"decay_rate", {decay}},
                                             {"staircase", {staircase ? 1.0 : 0.0}}}};
  const auto rate = [=](std::int64_t step) {
    double exponent = static_cast<double>(step) / static_cast<double>(steps);
    if (staircase) exponent = std::floor(exponent);
    return static_cast<float>(initial * std::pow(static_cast<double>(decay), exponent));
  };
  return {rate, described};
}

LearningRate cosine(float initial, std::int64_t steps, float alpha) {
  check_steps("CosineDecay", steps);
  check_rate("CosineDecay", initial);
  const LearningRate::Description described{
      "CosineDecay", {{"initial_learning_rate", {initial}}, {"decay_steps", {static_cast<double>(steps)}}, {"alpha", {alpha}}}};
  const auto rate = [=](std::int64_t step) {
    const double done = static_cast<double>(std::min(step, steps)) / static_cast<double>(steps);
    const double wave = 0.5 * (1 + std::cos(3.14159265358979323846 * done));
    return static_cast<float>(initial * ((1 - alpha) * wave + alpha));
  };
  return {rate, described};
}

LearningRate piecewise(const std::vector<std::int64_t>& boundaries, const std::vector<float>& values) {
  if (values.size() != boundaries.size() + 1) throw Error("PiecewiseConstantDecay: there must be one value more than boundaries");
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) throw Error("PiecewiseConstantDecay: the boundaries must grow");
  for (const float value : values) check_rate("PiecewiseConstantDecay", value);
  const LearningRate::Description described{"PiecewiseConstantDecay",
                                            {{"boundaries", std::vector<double>(boundaries.begin(), boundaries.end())},
                                             {"values", std::vector<double>(values.begin(), values.end())}}};
  const auto rate = [=](std::int64_t step) {
    return values[static_cast<std::size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), step) - boundaries.begin())];
  };
  return {rate, described};
}

}  // namespace

LearningRate::LearningRate(float rate) : rate_(rate) {}
LearningRate::LearningRate(std::function<float(std::int64_t)> schedule)
    : schedule_(std::make_shared<const std::function<float(std::int64_t)>>(std::move(schedule))) {}
LearningRate::LearningRate(std::function<float(std::int64_t)> schedule, Description description)
    : schedule_(std::make_shared<const std::function<float(std::int64_t)>>(std::move(schedule))), description_(std::move(description)) {}
float LearningRate::at(std::int64_t step) const { return schedule_ ? (*schedule_)(step) : rate_; }

ExponentialDecay::ExponentialDecay(float initial_learning_rate, std::int64_t decay_steps, float decay_rate, bool staircase)
    : LearningRate(exponential(initial_learning_rate, decay_steps, decay_rate, staircase)) {}
CosineDecay::CosineDecay(float initial_learning_rate, std::int64_t decay_steps, float alpha)
    : LearningRate(cosine(initial_learning_rate, decay_steps, alpha)) {}
PiecewiseConstantDecay::PiecewiseConstantDecay(const std::vector<std::int64_t>& boundaries, const std::vector<float>& values)
    : LearningRate(piecewise(boundaries, values)) {}

}  // namespace lockstep
