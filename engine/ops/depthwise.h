// Depthwise 2-D convolution, NHWC images and Keras' filters (kernel_h, kernel_w, channels, multiplier), by our own kernels.
#pragma once

#include "engine/ops/op_context.h"
#include "engine/ops/window_spec.h"

namespace lockstep::ops {

struct DepthwiseSpec : WindowSpec {
  std::int64_t channels = 0, multiplier = 1;
};

void depthwise_forward(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& filter, const Tensor& y);
void depthwise_backward_data(const OpContext& context, const DepthwiseSpec& spec, const Tensor& dy, const Tensor& filter, const Tensor& dx);
// Needs scratch of depthwise_scratch(spec) bytes.
void depthwise_backward_filter(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& dy,
                               const Tensor& dfilter);
std::size_t depthwise_scratch(const DepthwiseSpec& spec);

}  // namespace lockstep::ops
