// Max pooling over windows of an NHWC image.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

struct PoolingSpec {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;
  std::int64_t pool_h = 2, pool_w = 2, stride_h = 2, stride_w = 2;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  std::int64_t out_height() const { return (height + pad_top + pad_bottom - pool_h) / stride_h + 1; }
  std::int64_t out_width() const { return (width + pad_left + pad_right - pool_w) / stride_w + 1; }
};

void max_pooling(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y);
// The gradient goes to the first maximum of each window, in row-major order, as in TensorFlow. Writes all of dx.
void max_pooling_gradient(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y, const Tensor& dy,
                          const Tensor& dx);

}  // namespace lockstep::ops
