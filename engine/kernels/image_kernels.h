// Images, NHWC, moved or averaged: zero padding, the mean over everything, and random flips.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/random_key.h"

namespace lockstep::kernels {

struct PaddingShape {
  std::int32_t batch, height, width, channels;  // of the smaller image
  std::int32_t top, bottom, left, right;        // zeros around it
};
inline Cost padding_cost(const PaddingShape& s) {
  const double row = 1.0 * s.batch * s.channels;
  return {0, 4 * row * (1.0 * s.height * s.width + (1.0 * s.height + s.top + s.bottom) * (1.0 * s.width + s.left + s.right))};
}

// y = x with zeros around it.
__global__ void zero_padding(PaddingShape shape, View<const float> x, View<float> y);
inline Cost zero_padding_cost(const PaddingShape& s) { return padding_cost(s); }

// dx = dy without its border.
__global__ void zero_padding_gradient(PaddingShape shape, View<const float> dy, View<float> dx);
inline Cost zero_padding_gradient_cost(const PaddingShape& s) { return padding_cost(s); }

// y(n, c) = mean of x(n, pixel, c), pixels in order.
__global__ void global_average_pooling(View<const float> x, View<float> y, std::int64_t batch, std::int64_t pixels, std::int64_t channels);
inline Cost global_average_pooling_cost(std::int64_t batch, std::int64_t pixels, std::int64_t channels) {
  const double n = static_cast<double>(batch * channels);
  return {n * static_cast<double>(pixels), 4 * n * static_cast<double>(pixels + 1)};
}

// dx(n, pixel, c) = dy(n, c) / pixels
__global__ void global_average_pooling_gradient(View<const float> dy, View<float> dx, std::int64_t batch, std::int64_t pixels,
                                                std::int64_t channels);
inline Cost global_average_pooling_gradient_cost(std::int64_t batch, std::int64_t pixels, std::int64_t channels) {
  return global_average_pooling_cost(batch, pixels, channels);
}

// y = x, each sample mirrored or not by a draw of its own. Applied to a gradient it goes back the same way.
__global__ void random_flip(RandomKey key, View<const float> x, View<float> y, std::int32_t height, std::int32_t width,
                            std::int32_t channels, bool horizontal, bool vertical);
inline Cost random_flip_cost(std::int64_t n) { return {0, 8.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
