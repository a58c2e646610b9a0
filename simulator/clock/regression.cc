#include "simulator/clock/regression.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace lockstep::clock {

namespace {

using Matrix = std::vector<std::vector<double>>;

// The inverse of a symmetric positive definite matrix (Gauss and Jordan; pivots are positive).
Matrix inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix b(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) b[i][i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = a[i][i];
    if (!(pivot > 0)) throw std::runtime_error("a fit is degenerate");
    for (std::size_t k = 0; k < n; ++k) a[i][k] /= pivot, b[i][k] /= pivot;
    for (std::size_t j = 0; j < n; ++j) {
      const double factor = a[j][i];
      if (j == i || factor == 0) continue;
      for (std::size_t k = 0; k < n; ++k) a[j][k] -= factor * a[i][k], b[j][k] -= factor * b[i][k];
    }
  }
  return b;
}

// Where a discrete choice of the model changes within a step, its slope there is meaningless.
constexpr double kSteepest = 100;

}  // namespace

Regression regress(const std::vector<Prior>& priors, const std::vector<double>& measured, double noise, int rounds, const Answers& model) {
  const std::size_t n = priors.size(), rows = measured.size();
  Regression fit;
  for (const Prior& prior : priors) fit.value.push_back(prior.value);
  Matrix covariance;
  for (int round = 0; round < rounds; ++round) {
    Matrix normal(n, std::vector<double>(n, 0));
    std::vector<double> right(n, 0);
    std::vector<std::vector<double>> slopes(n);
    const std::vector<double> now = model(fit.value);
    for (std::size_t k = 0; k < n; ++k) {
      const double precision = 1 / (priors[k].deviation * priors[k].deviation);
      normal[k][k] += precision;
      right[k] += (priors[k].value - fit.value[k]) * precision;
      std::vector<double> moved = fit.value;
      const double step = 1e-4 * priors[k].deviation;
      moved[k] += step;
      slopes[k] = model(moved);
      for (std::size_t i = 0; i < rows; ++i) {
        const double slope = (slopes[k][i] - now[i]) / step / measured[i];
        slopes[k][i] = std::abs(slope) * priors[k].deviation < kSteepest ? slope : 0;
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const double residual = 1 - now[i] / measured[i];
      const double weight = 1 / std::max(std::abs(residual) / noise, 0.3) / (noise * noise);
      for (std::size_t k = 0; k < n; ++k) {
        if (slopes[k][i] == 0) continue;
        right[k] += weight * slopes[k][i] * residual;
        for (std::size_t j = 0; j < n; ++j) normal[k][j] += weight * slopes[k][i] * slopes[j][i];
      }
    }
    covariance = inverse(normal);
    for (std::size_t k = 0; k < n; ++k) {
      double change = 0;
      for (std::size_t j = 0; j < n; ++j) change += covariance[k][j] * right[j];
      // Figures stay positive: a step goes at most to a tenth of where it was.
      fit.value[k] = std::max(fit.value[k] + change, 0.1 * fit.value[k]);
    }
  }
  for (std::size_t k = 0; k < n; ++k) fit.error.push_back(std::sqrt(covariance[k][k]));
  return fit;
}

}  // namespace lockstep::clock
