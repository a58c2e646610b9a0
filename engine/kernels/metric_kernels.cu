// Running sums for metrics beyond plain accuracy.
#include <backend/kernel_support.h>
#include "engine/kernels/metric_kernels.h"
#include "engine/kernels/sample_weight.h"

namespace lockstep::kernels {

__global__ void add_in_top_k(View<const float> scores, View<const std::int32_t> labels, View<const float> weights, View<double> sum,
                             std::int64_t k, std::int64_t rows, std::int64_t columns) {
  each_block(1, [=](std::int64_t) {
    const double total = lane_sum<128>(rows, [=](std::int64_t row) {
      const std::int64_t label = labels[row];
      if (label < 0 || label >= columns) return 0.0;
      const float* s = scores.data + row * columns;
      std::int64_t above = 0;
      bool finite = true;
      for (std::int64_t c = 0; c < columns; ++c) {
        above += s[c] > s[label] ? 1 : 0;
        finite = finite && s[c] - s[c] == 0.0F;
      }
      return finite && above < k ? weight_of(weights, row) : 0.0;
    });
    each_thread(1, [=](std::int64_t) { sum[0] += total; });
  });
}

}  // namespace lockstep::kernels
