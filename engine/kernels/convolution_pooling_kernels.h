// A convolution, its bias, a ReLU and the max pooling behind them as one kernel: the image between convolution and pooling, the largest
// tensor of a small network, never exists. What backward needs of it is which pixel of each window won, a byte.
//
// For convolutions of stride 1 without padding, few taps, channels in multiples of 8, and pools of 2 x 2 or 1 x 2 side by side.
// A row or column that no window covers is not computed.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels {

struct ConvolutionPoolingShape {
  std::int32_t batch, height, width, in_channels, out_channels;
  std::int32_t kernel_h, kernel_w;
  std::int32_t pool_h;                 // 2 or 1; pools are 2 wide
  std::int32_t out_height, out_width;  // of the pooled image
};

LOCKSTEP_HOST_DEVICE inline std::int64_t convolution_pooling_outputs(const ConvolutionPoolingShape& s) {
  return static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width * s.out_channels;
}
LOCKSTEP_HOST_DEVICE inline std::int64_t convolution_pooling_taps(const ConvolutionPoolingShape& s) {
  return static_cast<std::int64_t>(s.kernel_h) * s.kernel_w * s.in_channels;
}
// Of the convolution alone, as FLOPs are usually counted, and what must be read and written.
inline Cost convolution_pooling_cost(const ConvolutionPoolingShape& s) {
  const auto outputs = static_cast<double>(convolution_pooling_outputs(s));
  const auto taps = static_cast<double>(convolution_pooling_taps(s));
  const double inputs = 1.0 * s.batch * s.height * s.width * s.in_channels;
  return {2 * outputs * 2 * s.pool_h * taps, 4 * inputs + 5 * outputs + 4 * taps * s.out_channels};
}

// y = the largest of each window of relu(convolution(x, filter) + bias); without `relu` of the sum itself. winners, where it has elements:
// the number of the winning pixel in its window, row by row, the first of equals; 255 where the ReLU lets nothing through. bias may have
// no elements. Each sum is a chain of fused multiply-adds over (row, column, channel) of the filter.
__global__ void convolution_pooling(ConvolutionPoolingShape shape, bool relu, View<const float> x, View<const float> filter,
                                    View<const float> bias, View<float> y, View<std::uint8_t> winners);

// Gradients of filter and bias from that of y, summed over runs of samples: `add_chunks` joins them.
LOCKSTEP_HOST_DEVICE inline std::int64_t convolution_pooling_chunks(const ConvolutionPoolingShape& s) {
  return s.batch > 0 ? (s.batch + sum_order::kChunkSamples - 1) / sum_order::kChunkSamples : 1;
}
// filter_sums(chunks, taps, out_channels), bias_sums(chunks, out_channels)
__global__ void convolution_pooling_gradient(ConvolutionPoolingShape shape, View<const float> x, View<const float> dy,
                                             View<const std::uint8_t> winners, View<float> filter_sums, View<float> bias_sums);
inline Cost convolution_pooling_gradient_cost(const ConvolutionPoolingShape& s) { return convolution_pooling_cost(s); }

// The gradient of the convolution's output, (batch, conv_height, margin + conv_width + margin, out_channels): each dy at its winner,
// and zeros.
__global__ void unpool(ConvolutionPoolingShape shape, std::int32_t margin, View<const float> dy, View<const std::uint8_t> winners,
                       View<float> dconvolution);
inline Cost unpool_cost(const ConvolutionPoolingShape& s, std::int32_t margin) {
  const auto outputs = static_cast<double>(convolution_pooling_outputs(s));
  return {0, 5 * outputs + 4.0 * s.batch * (s.height - s.kernel_h + 1) * (s.width - s.kernel_w + 1 + 2 * margin) * s.out_channels};
}

}  // namespace lockstep::kernels
