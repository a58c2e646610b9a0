// Wrong: the numbers of the rows are forgotten.
// Says: A table of 1000 rows of 1, 600 rows in use
#pragma once

#include "lesson.h"

namespace lesson {

inline std::map<std::int32_t, std::vector<float>> sum_by_word(const std::vector<std::int32_t>& words, const std::vector<float>& gradients,
                                                              std::size_t width) {
  std::map<std::int32_t, std::vector<float>> sums;
  for (std::size_t place = 0; place < words.size(); ++place) {
    std::vector<float>& sum = sums[words[place]];
    sum.resize(width);
    for (std::size_t j = 0; j < width; ++j) sum[j] += gradients[place * width + j];
  }
  return sums;
}

inline bool send_rows(std::int64_t rows, std::int64_t width, std::int64_t rows_in_use, int replicas) {
  const double n = replicas;
  const double whole = 2.0 * 4.0 * static_cast<double>(rows * width) * (n - 1) / n;
  const double by_rows = (n - 1) * static_cast<double>(rows_in_use) * (4.0 * static_cast<double>(width));
  return by_rows < whole;
}

struct NadamState {
  double m = 0, v = 0, product = 1;
};
inline double nadam_update(double w, NadamState& state, double g, int iteration, double learning_rate, double beta1, double beta2,
                           double epsilon) {
  const double t = iteration + 1;
  const double u = beta1 * (1 - 0.5 * std::pow(0.96, t));
  const double next = beta1 * (1 - 0.5 * std::pow(0.96, t + 1));
  state.product *= u;
  state.m = beta1 * state.m + (1 - beta1) * g;
  state.v = beta2 * state.v + (1 - beta2) * g * g;
  const double m_hat = next * state.m / (1 - state.product * next) + (1 - u) * g / (1 - state.product);
  const double v_hat = state.v / (1 - std::pow(beta2, t));
  return w - learning_rate * m_hat / (std::sqrt(v_hat) + epsilon);
}

inline double loss_from_scores(const std::vector<double>& scores, std::size_t label) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - most);
  return std::log(sum) - (scores[label] - most);
}

inline double lowest_double_softmax_loss(int classes) { return std::log(1 + (classes - 1) / std::exp(1.0)); }

}  // namespace lesson
