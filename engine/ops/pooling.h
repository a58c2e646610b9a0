// Max and average pooling over windows of an NHWC image.
#pragma once

#include "engine/ops/op_context.h"
#include "engine/ops/window_spec.h"

namespace lockstep::ops {

struct PoolingSpec : WindowSpec {
  std::int64_t channels = 0;
};

void max_pooling(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y);
// The gradient goes to the first maximum of each window, in row-major order, as in TensorFlow. Writes all of dx.
void max_pooling_gradient(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y, const Tensor& dy,
                          const Tensor& dx);

// Means of windows; padding is not counted, as in TensorFlow.
void average_pooling(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y);
void average_pooling_gradient(const OpContext& context, const PoolingSpec& spec, const Tensor& dy, const Tensor& dx);

}  // namespace lockstep::ops
