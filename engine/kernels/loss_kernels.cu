// Cross-entropy with integer labels, with its gradient, and the running sums that losses and metrics are shown from.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/loss_kernels.h"
#include "engine/kernels/sample_weight.h"

namespace lockstep::kernels {

__global__ void sparse_cross_entropy(View<const float> logits, View<const std::int32_t> labels, float scale, View<float> losses,
                                     View<float> dlogits, std::int64_t rows, std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float* x = logits.data + row * columns;
    const std::int64_t label = labels[row];
    const bool known = label >= 0 && label < columns;
    const float largest = lane_max<32>(columns, [=](std::int64_t c) { return x[c]; });
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return expf(x[c] - largest); });
    each_thread(1, [=](std::int64_t) { losses[row] = known ? logf(sum) - (x[label] - largest) : NAN; });
    if (dlogits.count == 0) return;
    float* dx = dlogits.data + row * columns;
    const float factor = known ? scale : NAN;
    each_thread(columns, [=](std::int64_t c) { dx[c] = (expf(x[c] - largest) / sum - (c == label ? 1.0F : 0.0F)) * factor; });
  });
}

__global__ void sparse_cross_entropy_probabilities(View<const float> probabilities, View<const std::int32_t> labels, float scale,
                                                   View<float> losses, View<float> dprobabilities, std::int64_t rows,
                                                   std::int64_t columns) {
  const float low = 1e-7F;
  const float high = 1.0F - 1e-7F;
  const auto clip = [=](float p) { return low > p ? low : (high < p ? high : p); };
  each_block(rows, [=](std::int64_t row) {
    const float* p = probabilities.data + row * columns;
    const std::int64_t label = labels[row];
    const bool known = label >= 0 && label < columns;
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return clip(p[c]); });
    const float at_label = known ? clip(p[label]) : NAN;
    each_thread(1, [=](std::int64_t) { losses[row] = logf(sum) - logf(at_label); });
    if (dprobabilities.count == 0) return;
    float* dp = dprobabilities.data + row * columns;
    const float factor = known ? scale : NAN;
    each_thread(columns, [=](std::int64_t c) {
      const float slope = (1.0F / sum - (c == label ? 1.0F / at_label : 0.0F)) * factor;
      dp[c] = p[c] < low || p[c] > high ? 0.0F * factor : slope;
    });
  });
}

__global__ void weigh_samples(View<const float> weights, View<float> losses, View<float> gradient, std::int64_t rows,
                              std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float weight = weights[row];
    each_thread(1, [=](std::int64_t) { losses[row] *= weight; });
    if (gradient.count == 0) return;
    float* dx = gradient.data + row * columns;
    each_thread(columns, [=](std::int64_t c) { dx[c] *= weight; });
  });
}

__global__ void add_to_sum(View<const float> values, View<double> sum) {
  each_block(1, [=](std::int64_t) {
    const double total = lane_sum<128>(values.count, [=](std::int64_t i) { return static_cast<double>(values[i]); });
    each_thread(1, [=](std::int64_t) { sum[0] += total; });
  });
}

__global__ void add_correct(View<const float> scores, View<const std::int32_t> labels, View<const float> weights, View<double> sum,
                            std::int64_t rows, std::int64_t columns) {
  each_block(1, [=](std::int64_t) {
    const double total = lane_sum<128>(rows, [=](std::int64_t row) {
      const std::int64_t label = labels[row];
      if (label < 0 || label >= columns) return 0.0;
      const float* s = scores.data + row * columns;
      const float best = s[label];
      bool right = best == best;
      for (std::int64_t c = 0; c < label; ++c) right = right && s[c] < best;
      for (std::int64_t c = label + 1; c < columns; ++c) right = right && s[c] <= best;
      return right ? weight_of(weights, row) : 0.0;
    });
    each_thread(1, [=](std::int64_t) { sum[0] += total; });
  });
}

}  // namespace lockstep::kernels
