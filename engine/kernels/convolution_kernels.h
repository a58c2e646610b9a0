// Direct convolutions, NHWC images and HWIO filters: what runs where cuDNN's heuristics give no plan. Plain, for any stride, padding
// and dilation; every sum has one order.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

struct ConvShape {
  std::int32_t batch, height, width, in_channels, out_channels;
  std::int32_t out_height, out_width;
  std::int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
};

inline Cost convolution_cost(const ConvShape& s) {
  const double outputs = 1.0 * s.batch * s.out_height * s.out_width * s.out_channels;
  const double inputs = 1.0 * s.batch * s.height * s.width * s.in_channels;
  const double taps = 1.0 * s.kernel_h * s.kernel_w * s.in_channels;
  return {2 * outputs * taps, 4 * (inputs + outputs + taps * s.out_channels)};
}

// y(n, oy, ox, k) = sum over r, s, c of x(n, oy * stride + r * dilation - pad, ..., c) * filter(r, s, c, k)
__global__ void convolution_forward(ConvShape shape, View<const float> x, View<const float> filter, View<float> y);
inline Cost convolution_forward_cost(const ConvShape& s) { return convolution_cost(s); }

// dx(n, iy, ix, c) = sum over r, s, k of dy(n, oy, ox, k) * filter(r, s, c, k), over the outputs this input had a part in
__global__ void convolution_backward_data(ConvShape shape, View<const float> dy, View<const float> filter, View<float> dx);
inline Cost convolution_backward_data_cost(const ConvShape& s) { return convolution_cost(s); }

// dfilter(r, s, c, k) = sum over n, oy, ox of x(n, iy, ix, c) * dy(n, oy, ox, k)
__global__ void convolution_backward_filter(ConvShape shape, View<const float> x, View<const float> dy, View<float> dfilter);
inline Cost convolution_backward_filter_cost(const ConvShape& s) { return convolution_cost(s); }

}  // namespace lockstep::kernels
