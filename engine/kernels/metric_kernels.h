// Running sums for metrics beyond plain accuracy.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// sum[0] += number of rows where fewer than k scores are above the label's, as TensorFlow's in_top_k counts: ties at the border are in. A
// row with a score that is not finite is never counted.
__global__ void add_in_top_k(View<const float> scores, View<const std::int32_t> labels, View<const float> weights, View<double> sum,
                             std::int64_t k, std::int64_t rows, std::int64_t columns);
inline Cost add_in_top_k_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {n, 4 * n + 4.0 * static_cast<double>(rows)};
}

}  // namespace lockstep::kernels
