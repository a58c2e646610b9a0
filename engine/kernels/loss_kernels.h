// Cross-entropy with integer labels, with its gradient, and the running sums that losses and metrics are shown from.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// losses(rows) = -log softmax(logits)[label]; dlogits = (softmax - onehot) * scale, left out where dlogits has no elements.
// A label outside [0, columns) gives NaN for that row, loss and gradient.
__global__ void sparse_cross_entropy(View<const float> logits, View<const std::int32_t> labels, float scale, View<float> losses,
                                     View<float> dlogits, std::int64_t rows, std::int64_t columns);
inline Cost sparse_cross_entropy_cost(std::int64_t rows, std::int64_t columns, bool gradient) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {gradient ? 14 * n : 10 * n, (gradient ? 8 : 4) * n + 8.0 * static_cast<double>(rows)};
}

// The same from probabilities p, as Keras on TensorFlow does it: q = clip(p, 1e-7, 1 - 1e-7), loss = -log(q[label] / sum q),
// dp = (1 / sum q - onehot / q[label]) * scale where p was not clipped, else 0.
__global__ void sparse_cross_entropy_probabilities(View<const float> probabilities, View<const std::int32_t> labels, float scale,
                                                   View<float> losses, View<float> dprobabilities, std::int64_t rows, std::int64_t columns);
inline Cost sparse_cross_entropy_probabilities_cost(std::int64_t rows, std::int64_t columns, bool gradient) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {gradient ? 6 * n : 3 * n, (gradient ? 8 : 4) * n + 8.0 * static_cast<double>(rows)};
}

// sum[0] += sum of values, in double.
__global__ void add_to_sum(View<const float> values, View<double> sum);
inline Cost add_to_sum_cost(std::int64_t n) { return {1.0 * static_cast<double>(n), 4.0 * static_cast<double>(n)}; }

// losses[row] *= weights[row], and row by row the gradient as well, where it has elements.
__global__ void weigh_samples(View<const float> weights, View<float> losses, View<float> gradient, std::int64_t rows, std::int64_t columns);
inline Cost weigh_samples_cost(std::int64_t rows, std::int64_t columns, bool gradient) {
  const double n = static_cast<double>(rows) * static_cast<double>(gradient ? columns : 1);
  return {n, 8 * n + 4.0 * static_cast<double>(rows)};
}

// sum[0] += number of rows whose largest score, the first one on a tie, is at the label. A row with a NaN is never right. Where there
// are weights, a row counts as much as its weight says; so in all sums of this kind.
__global__ void add_correct(View<const float> scores, View<const std::int32_t> labels, View<const float> weights, View<double> sum,
                            std::int64_t rows, std::int64_t columns);
inline Cost add_correct_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {n, 4 * n + 4.0 * static_cast<double>(rows)};
}

}  // namespace lockstep::kernels
