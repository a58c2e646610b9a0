// Losses whose labels are as many numbers as the model's outputs: rows are samples, columns their outputs. In each, losses(rows) are
// written, and the gradient times `scale` where the gradient has elements.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

inline Cost dense_loss_cost(std::int64_t rows, std::int64_t columns, bool gradient) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {gradient ? 16 * n : 10 * n, (gradient ? 12 : 8) * n + 4.0 * static_cast<double>(rows)};
}

// -sum t log softmax(x); gradient softmax(x) - t, as TensorFlow has it: t is taken to sum to 1.
__global__ void categorical_cross_entropy(View<const float> logits, View<const float> targets, float scale, View<float> losses,
                                          View<float> gradient, std::int64_t rows, std::int64_t columns);
// -sum t log q with q = p / sum p, clipped to [1e-7, 1 - 1e-7]; where it is clipped its slope is 0.
__global__ void categorical_cross_entropy_probabilities(View<const float> probabilities, View<const float> targets, float scale,
                                                        View<float> losses, View<float> gradient, std::int64_t rows, std::int64_t columns);
// mean over columns of max(x, 0) - x t + log(1 + exp(-|x|)); gradient (sigmoid(x) - t) / columns.
__global__ void binary_cross_entropy(View<const float> logits, View<const float> targets, float scale, View<float> losses,
                                     View<float> gradient, std::int64_t rows, std::int64_t columns);
// mean over columns of -(t log q + (1 - t) log(1 - q)) with q = p clipped to [1e-7, 1 - 1e-7].
__global__ void binary_cross_entropy_probabilities(View<const float> probabilities, View<const float> targets, float scale,
                                                   View<float> losses, View<float> gradient, std::int64_t rows, std::int64_t columns);
// mean over columns of (x - t)^2
__global__ void mean_squared_error(View<const float> outputs, View<const float> targets, float scale, View<float> losses,
                                   View<float> gradient, std::int64_t rows, std::int64_t columns);

// sum[0] += number of rows whose largest score and largest target stand at the same place, the first one on a tie.
__global__ void add_categorical_correct(View<const float> scores, View<const float> targets, View<const float> weights, View<double> sum,
                                        std::int64_t rows, std::int64_t columns);
// sum[0] += for each row the share of columns where score > threshold says what the target (1 or 0) says.
__global__ void add_binary_correct(View<const float> scores, View<const float> targets, View<const float> weights, float threshold,
                                   View<double> sum, std::int64_t rows, std::int64_t columns);

}  // namespace lockstep::kernels
