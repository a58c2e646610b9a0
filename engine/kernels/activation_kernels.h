// Bias and activation after a product, their gradients in one pass, and softmax. Everything is rows x columns, row-major: for an
// NHWC image the rows are pixels and the columns channels.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/row_chunks.h"

namespace lockstep::kernels {

// y = relu?(y + bias), in place. A bias without elements is left out.
__global__ void bias_activation(View<const float> bias, View<float> y, std::int64_t rows, std::int64_t columns, bool relu);
inline Cost bias_activation_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {2 * n, 8 * n};
}

// dy = y > 0 ? dy : 0, in place, and partial(chunks x columns) = sums of dy over each chunk of rows.
__global__ void relu_bias_gradient(View<const float> y, View<float> dy, View<float> partial, std::int64_t rows, std::int64_t columns);
inline Cost relu_bias_gradient_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {2 * n, 12 * n + 4.0 * static_cast<double>(row_chunks(rows) * columns)};
}

// dy = y > 0 ? dy : 0, in place.
__global__ void relu_gradient(View<const float> y, View<float> dy);
inline Cost relu_gradient_cost(std::int64_t n) { return {1.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// partial(chunks x columns) = sums of x over each chunk of rows.
__global__ void column_sums(View<const float> x, View<float> partial, std::int64_t rows, std::int64_t columns);
inline Cost column_sums_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {n, 4 * n + 4.0 * static_cast<double>(row_chunks(rows) * columns)};
}

// sums(columns) = partial(chunks x columns) added in the order of the chunks.
__global__ void add_chunks(View<const float> partial, View<float> sums, std::int64_t chunks, std::int64_t columns);
inline Cost add_chunks_cost(std::int64_t chunks, std::int64_t columns) {
  const double n = static_cast<double>(chunks) * static_cast<double>(columns);
  return {n, 4 * n + 4.0 * static_cast<double>(columns)};
}

// y = softmax of each row of x, with the row's maximum subtracted first. y may be x.
__global__ void softmax(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns);
inline Cost softmax_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {12 * n, 8 * n};
}

// dy = y * (dy - sum of dy * y over the row), in place: the product with softmax's Jacobian.
__global__ void softmax_gradient(View<const float> y, View<float> dy, std::int64_t rows, std::int64_t columns);
inline Cost softmax_gradient_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {4 * n, 12 * n};
}

}  // namespace lockstep::kernels
