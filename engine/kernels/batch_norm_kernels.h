// Batch normalisation over rows x columns: a column is a channel, for an NHWC image the rows are all pixels of the batch.
//
//   y = clip(gamma * (x - mean) / sqrt(variance + epsilon) + beta)
//
// The clip is a ReLU that follows the layer, with an upper bound or without; [-inf, inf] where there is none. Its gradient needs no
// output: what was clipped is worked out from x again, by the same formula and so with the same bits. Forward and backward read x
// twice and once more respectively, which is all that the sums over the batch allow.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/row_chunks.h"

namespace lockstep::kernels {

// What normalising one column takes, kept from forward to backward: four rows of `columns` floats.
struct BatchNormFolded {
  enum : int { mean, inverse, scale, shift, count };  // inverse: 1 / sqrt(variance + epsilon); scale: gamma * inverse; shift: beta
};

// partial(chunks x 2 x columns) = each chunk's mean, and its sum of squared differences from that mean.
__global__ void batch_norm_moments(View<const float> x, View<float> partial, std::int64_t rows, std::int64_t columns);
inline Cost batch_norm_moments_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {4 * n, 4 * n + 8.0 * static_cast<double>(row_chunks(rows) * columns)};
}

// Joins the chunks (Chan, Golub and LeVeque 1979), updates the moving statistics as Keras does,
// moving = moving * momentum + batch * (1 - momentum) with the biased variance, and folds. gamma and beta may have no elements.
__global__ void batch_norm_fold_batch(View<const float> partial, View<const float> gamma, View<const float> beta, View<float> moving_mean,
                                      View<float> moving_variance, View<float> folded, std::int64_t rows, std::int64_t columns,
                                      float momentum, float epsilon);
inline Cost batch_norm_fold_batch_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(row_chunks(rows) * columns);
  return {8 * n, 8 * n + 40.0 * static_cast<double>(columns)};
}

// Statistics over all replicas. Sums are made in double: they then hardly depend on how the rows are dealt out, so forward has the same
// bits on one device and on many. That matters more than it seems: a value that rounding carries over a ReLU's edge changes a gradient by
// about 1/sqrt(elements), thousands of times more than rounding itself does.
//
// partial(chunks x 2 x columns) = each chunk's sums of x and of its squares.
__global__ void batch_norm_sums(View<const float> x, View<double> partial, std::int64_t rows, std::int64_t columns);
inline Cost batch_norm_sums_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {3 * n, 4 * n + 16.0 * static_cast<double>(row_chunks(rows) * columns)};
}

// What one replica tells the others about its rows: `count` rows of floats. A double goes as two floats, which keep 48 bits of it.
struct BatchNormShared {
  enum : int { rows, sum, sum_rest, squares, squares_rest, count };
};
__global__ void batch_norm_share(View<const double> partial, View<float> shared, std::int64_t rows, std::int64_t columns);
inline Cost batch_norm_share_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(row_chunks(rows) * columns);
  return {2 * n, 16 * n + 20.0 * static_cast<double>(columns)};
}

// Like batch_norm_fold_batch, from what all replicas share, added in the order of replicas.
__global__ void batch_norm_fold_replicas(View<const float> shared, View<const float> gamma, View<const float> beta, View<float> moving_mean,
                                         View<float> moving_variance, View<float> folded, std::int64_t replicas, std::int64_t columns,
                                         float momentum, float epsilon);
inline Cost batch_norm_fold_replicas_cost(std::int64_t replicas, std::int64_t columns) {
  const double n = static_cast<double>(replicas * columns);
  return {5 * n, 20 * n + 40.0 * static_cast<double>(columns)};
}

// Folds the moving statistics: inference.
__global__ void batch_norm_fold_moving(View<const float> moving_mean, View<const float> moving_variance, View<const float> gamma,
                                       View<const float> beta, View<float> folded, float epsilon);
inline Cost batch_norm_fold_moving_cost(std::int64_t columns) {
  return {4.0 * static_cast<double>(columns), 32.0 * static_cast<double>(columns)};
}

// y = clip(scale * (x - mean) + shift). y may be x.
__global__ void batch_norm_apply(View<const float> x, View<const float> folded, View<float> y, std::int64_t rows, std::int64_t columns,
                                 float low, float high);
inline Cost batch_norm_apply_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {5 * n, 8 * n};
}

// partial(chunks x 2 x columns) = each chunk's sums of g and of g * (x - mean) * inverse, g being dy where nothing was clipped, else 0.
__global__ void batch_norm_gradient_sums(View<const float> x, View<const float> dy, View<const float> folded, View<float> partial,
                                         std::int64_t rows, std::int64_t columns, float low, float high);
inline Cost batch_norm_gradient_sums_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {8 * n, 8 * n + 8.0 * static_cast<double>(row_chunks(rows) * columns)};
}

// sums(2 x columns) = the chunks added in order: the gradients of beta and gamma. Each is also written to dbeta and dgamma, where those
// have elements.
__global__ void batch_norm_gradient_total(View<const float> partial, View<float> sums, View<float> dgamma, View<float> dbeta,
                                          std::int64_t chunks, std::int64_t columns);
inline Cost batch_norm_gradient_total_cost(std::int64_t chunks, std::int64_t columns) {
  const double n = static_cast<double>(chunks) * static_cast<double>(columns);
  return {2 * n, 8 * n + 16.0 * static_cast<double>(columns)};
}

// dx = scale * (g - (sum of g + xhat * sum of g xhat) / all_rows), xhat = (x - mean) * inverse. all_rows: those the sums and the mean are
// made of, on all replicas if they share them. dx may be dy.
__global__ void batch_norm_gradient_apply(View<const float> x, View<const float> dy, View<const float> folded, View<const float> sums,
                                          View<float> dx, std::int64_t rows, std::int64_t columns, std::int64_t all_rows, float low,
                                          float high);
inline Cost batch_norm_gradient_apply_cost(std::int64_t rows, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(columns);
  return {11 * n, 12 * n};
}

}  // namespace lockstep::kernels
