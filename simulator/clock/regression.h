// Fits few parameters to measurements, each with a prior: a value, and a deviation from it that would not surprise us.
//
// The parameters that lie closest to the priors and to the measurements, both in units of their deviations (Bayesian linear regression;
// Gelman et al., "Bayesian Data Analysis", chapter 14), by steps along the model's slopes where it is not linear (Gauss and Newton). A
// measurement's deviation is a part of it, and rows further off than that count by their distance, not its square (Huber's weights).
#pragma once

#include <functional>
#include <vector>

namespace lockstep::clock {

struct Prior {
  double value = 0, deviation = 0;
};

struct Regression {
  std::vector<double> value, error;  // by parameter: the fitted value and its standard error
};

using Answers = std::function<std::vector<double>(const std::vector<double>& parameters)>;

Regression regress(const std::vector<Prior>& priors, const std::vector<double>& measured, double noise, int rounds, const Answers& model);

}  // namespace lockstep::clock
