// Depthwise 2-D convolution, NHWC images and Keras' filters (kernel_h, kernel_w, channels, multiplier), by our own kernels.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

struct DepthwiseSpec {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0, multiplier = 1;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  std::int64_t out_height() const { return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1; }
  std::int64_t out_width() const { return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1; }
};

void depthwise_forward(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& filter, const Tensor& y);
void depthwise_backward_data(const OpContext& context, const DepthwiseSpec& spec, const Tensor& dy, const Tensor& filter, const Tensor& dx);
// Needs scratch of depthwise_scratch(spec) bytes.
void depthwise_backward_filter(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& dy,
                               const Tensor& dfilter);
std::size_t depthwise_scratch(const DepthwiseSpec& spec);

}  // namespace lockstep::ops
