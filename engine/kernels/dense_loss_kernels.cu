// Losses whose labels are as many numbers as the model's outputs.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/dense_loss_kernels.h"
#include "engine/kernels/sample_weight.h"

namespace lockstep::kernels {

__global__ void categorical_cross_entropy(View<const float> logits, View<const float> targets, float scale, View<float> losses,
                                          View<float> gradient, std::int64_t rows, std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float* x = logits.data + row * columns;
    const float* t = targets.data + row * columns;
    const float largest = lane_max<32>(columns, [=](std::int64_t c) { return x[c]; });
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return expf(x[c] - largest); });
    const float log_sum = logf(sum);
    const float loss = lane_sum<32>(columns, [=](std::int64_t c) { return t[c] * (log_sum - (x[c] - largest)); });
    each_thread(1, [=](std::int64_t) { losses[row] = loss; });
    if (gradient.count == 0) return;
    float* dx = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) { dx[c] = (expf(x[c] - largest) / sum - t[c]) * scale; });
  });
}

__global__ void categorical_cross_entropy_probabilities(View<const float> probabilities, View<const float> targets, float scale,
                                                        View<float> losses, View<float> gradient, std::int64_t rows, std::int64_t columns) {
  const float low = 1e-7F;
  const float high = 1.0F - 1e-7F;
  each_block(rows, [=](std::int64_t row) {
    const float* p = probabilities.data + row * columns;
    const float* t = targets.data + row * columns;
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return p[c]; });
    const auto clipped = [=](std::int64_t c) { return fminf(fmaxf(p[c] / sum, low), high); };
    const auto slope = [=](std::int64_t c) { return p[c] / sum < low || p[c] / sum > high ? 0.0F : -t[c] / (p[c] / sum); };
    const float loss = lane_sum<32>(columns, [=](std::int64_t c) { return -t[c] * logf(clipped(c)); });
    each_thread(1, [=](std::int64_t) { losses[row] = loss; });
    if (gradient.count == 0) return;
    const float along = lane_sum<32>(columns, [=](std::int64_t c) { return slope(c) * (p[c] / sum); });
    float* dp = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) { dp[c] = (slope(c) - along) / sum * scale; });
  });
}

__global__ void binary_cross_entropy(View<const float> logits, View<const float> targets, float scale, View<float> losses,
                                     View<float> gradient, std::int64_t rows, std::int64_t columns) {
  const auto n = static_cast<float>(columns);
  each_block(rows, [=](std::int64_t row) {
    const float* x = logits.data + row * columns;
    const float* t = targets.data + row * columns;
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return fmaxf(x[c], 0.0F) - x[c] * t[c] + log1pf(expf(-fabsf(x[c]))); });
    each_thread(1, [=](std::int64_t) { losses[row] = sum / n; });
    if (gradient.count == 0) return;
    float* dx = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) {
      const float e = expf(-fabsf(x[c]));  // never overflows
      dx[c] = ((x[c] >= 0 ? 1.0F : e) / (1.0F + e) - t[c]) * scale / n;
    });
  });
}

__global__ void binary_cross_entropy_probabilities(View<const float> probabilities, View<const float> targets, float scale,
                                                   View<float> losses, View<float> gradient, std::int64_t rows, std::int64_t columns) {
  const float low = 1e-7F;
  const float high = 1.0F - 1e-7F;
  const auto n = static_cast<float>(columns);
  each_block(rows, [=](std::int64_t row) {
    const float* p = probabilities.data + row * columns;
    const float* t = targets.data + row * columns;
    const auto clip = [=](float value) { return fminf(fmaxf(value, low), high); };
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) {
      const float q = clip(p[c]);
      return -(t[c] * logf(q) + (1.0F - t[c]) * logf(1.0F - q));
    });
    each_thread(1, [=](std::int64_t) { losses[row] = sum / n; });
    if (gradient.count == 0) return;
    float* dp = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) {
      const float q = clip(p[c]);
      dp[c] = p[c] < low || p[c] > high ? 0.0F : ((1.0F - t[c]) / (1.0F - q) - t[c] / q) * scale / n;
    });
  });
}

__global__ void mean_squared_error(View<const float> outputs, View<const float> targets, float scale, View<float> losses,
                                   View<float> gradient, std::int64_t rows, std::int64_t columns) {
  const auto n = static_cast<float>(columns);
  each_block(rows, [=](std::int64_t row) {
    const float* x = outputs.data + row * columns;
    const float* t = targets.data + row * columns;
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return (x[c] - t[c]) * (x[c] - t[c]); });
    each_thread(1, [=](std::int64_t) { losses[row] = sum / n; });
    if (gradient.count == 0) return;
    float* dx = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) { dx[c] = 2.0F * (x[c] - t[c]) * scale / n; });
  });
}

namespace {

LOCKSTEP_HOST_DEVICE inline std::int64_t first_largest(const float* values, std::int64_t n) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n; ++i)
    if (values[i] > values[best]) best = i;
  return best;
}

}  // namespace

__global__ void add_categorical_correct(View<const float> scores, View<const float> targets, View<const float> weights, View<double> sum,
                                        std::int64_t rows, std::int64_t columns) {
  each_block(1, [=](std::int64_t) {
    const double total = lane_sum<128>(rows, [=](std::int64_t row) {
      const bool right = first_largest(scores.data + row * columns, columns) == first_largest(targets.data + row * columns, columns);
      return right ? weight_of(weights, row) : 0.0;
    });
    each_thread(1, [=](std::int64_t) { sum[0] += total; });
  });
}

__global__ void add_binary_correct(View<const float> scores, View<const float> targets, View<const float> weights, float threshold,
                                   View<double> sum, std::int64_t rows, std::int64_t columns) {
  each_block(1, [=](std::int64_t) {
    const double total = lane_sum<128>(rows, [=](std::int64_t row) {
      std::int64_t right = 0;
      for (std::int64_t c = row * columns; c < (row + 1) * columns; ++c)
        right += (scores[c] > threshold ? 1.0F : 0.0F) == targets[c] ? 1 : 0;
      return weight_of(weights, row) * static_cast<double>(right) / static_cast<double>(columns);
    });
    each_thread(1, [=](std::int64_t) { sum[0] += total; });
  });
}

}  // namespace lockstep::kernels
