// Depthwise convolutions, NHWC images: every channel has filters of its own, (kernel_h, kernel_w, channels, multiplier) as Keras keeps
// them, and output channel c * multiplier + m comes from channel c alone. Memory decides their speed, not arithmetic.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels {

struct DepthwiseShape {
  std::int32_t batch, height, width, channels, multiplier;
  std::int32_t out_height, out_width;
  std::int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
};

LOCKSTEP_HOST_DEVICE inline double depthwise_inputs(const DepthwiseShape& s) { return 1.0 * s.batch * s.height * s.width * s.channels; }
LOCKSTEP_HOST_DEVICE inline double depthwise_outputs(const DepthwiseShape& s) {
  return 1.0 * s.batch * s.out_height * s.out_width * s.channels * s.multiplier;
}
LOCKSTEP_HOST_DEVICE inline double depthwise_taps(const DepthwiseShape& s) {
  return 1.0 * s.kernel_h * s.kernel_w * s.channels * s.multiplier;
}
inline Cost depthwise_cost(const DepthwiseShape& s) {
  return {2 * depthwise_outputs(s) * s.kernel_h * s.kernel_w, 4 * (depthwise_inputs(s) + depthwise_outputs(s) + depthwise_taps(s))};
}

// y(n, oy, ox, c m) = sum over r, q of x(n, oy * stride + r * dilation - pad, ..., c) * filter(r, q, c, m)
__global__ void depthwise_forward(DepthwiseShape shape, View<const float> x, View<const float> filter, View<float> y);
inline Cost depthwise_forward_cost(const DepthwiseShape& s) { return depthwise_cost(s); }

// dx(n, iy, ix, c) = sum over r, q, m of dy(n, oy, ox, c m) * filter(r, q, c, m), over the outputs this input had a part in
__global__ void depthwise_backward_data(DepthwiseShape shape, View<const float> dy, View<const float> filter, View<float> dx);
inline Cost depthwise_backward_data_cost(const DepthwiseShape& s) { return depthwise_cost(s); }

// The filter's gradient sums over all pixels: runs of output rows (over the whole batch) give partial sums, which `add_chunks`
// joins.
LOCKSTEP_HOST_DEVICE inline std::int64_t depthwise_chunks(const DepthwiseShape& s) {
  const std::int64_t rows = static_cast<std::int64_t>(s.batch) * s.out_height;
  const std::int64_t chunks = rows * s.out_width / sum_order::kChunkPixels;
  const std::int64_t most = rows < sum_order::kMostFilterChunks ? rows : sum_order::kMostFilterChunks;
  return chunks < 1 || most < 1 ? 1 : (chunks > most ? most : chunks);
}

// partial(chunks, r, q, c m) = sum over the chunk's pixels of x(n, iy, ix, c) * dy(n, oy, ox, c m)
__global__ void depthwise_backward_filter(DepthwiseShape shape, View<const float> x, View<const float> dy, View<float> partial);
inline Cost depthwise_backward_filter_cost(const DepthwiseShape& s) {
  const Cost cost = depthwise_cost(s);
  return {cost.flops, cost.bytes + 4 * depthwise_taps(s) * static_cast<double>(depthwise_chunks(s))};
}

}  // namespace lockstep::kernels
