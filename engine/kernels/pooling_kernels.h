// Max and average pooling over windows of an NHWC image, forward and gradient.
//
// Gradients are in gather form: each input element looks at the windows that contain it, so every element has one writer and
// sums have one order. Of equal maxima the first in row-major order gets the gradient, as in TensorFlow; a NaN counts as a maximum.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

struct PoolShape {
  std::int32_t batch, height, width, channels;
  std::int32_t out_height, out_width;
  std::int32_t pool_h, pool_w, stride_h, stride_w, pad_top, pad_left;
};

LOCKSTEP_HOST_DEVICE inline double pool_inputs(const PoolShape& s) { return 1.0 * s.batch * s.height * s.width * s.channels; }
LOCKSTEP_HOST_DEVICE inline double pool_outputs(const PoolShape& s) { return 1.0 * s.batch * s.out_height * s.out_width * s.channels; }

__global__ void max_pooling(PoolShape shape, View<const float> x, View<float> y);
inline Cost max_pooling_cost(const PoolShape& s) { return {pool_outputs(s) * s.pool_h * s.pool_w, 4 * (pool_inputs(s) + pool_outputs(s))}; }

__global__ void max_pooling_gradient(PoolShape shape, View<const float> x, View<const float> y, View<const float> dy, View<float> dx);
inline Cost max_pooling_gradient_cost(const PoolShape& s) {
  return {pool_outputs(s) * s.pool_h * s.pool_w, 4 * (2 * pool_inputs(s) + 2 * pool_outputs(s))};
}

// The same for windows of 2x2 that do not overlap and no padding, Keras' default: every loop is unrolled.
__global__ void max_pooling_2x2(PoolShape shape, View<const float> x, View<float> y);
inline Cost max_pooling_2x2_cost(const PoolShape& s) { return max_pooling_cost(s); }

__global__ void max_pooling_gradient_2x2(PoolShape shape, View<const float> x, View<const float> y, View<const float> dy, View<float> dx);
inline Cost max_pooling_gradient_2x2_cost(const PoolShape& s) { return max_pooling_gradient_cost(s); }

// y = mean of each window; padding is not counted, as in TensorFlow.
__global__ void average_pooling(PoolShape shape, View<const float> x, View<float> y);
inline Cost average_pooling_cost(const PoolShape& s) {
  return {pool_outputs(s) * s.pool_h * s.pool_w, 4 * (pool_inputs(s) + pool_outputs(s))};
}

__global__ void average_pooling_gradient(PoolShape shape, View<const float> dy, View<float> dx);
inline Cost average_pooling_gradient_cost(const PoolShape& s) { return average_pooling_cost(s); }

}  // namespace lockstep::kernels
