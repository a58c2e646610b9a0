// Direct convolutions, NHWC images and HWIO filters.
//
// A thread makes kTile neighbouring channels at once, in registers: on a CPU that is a vector, on a GPU it reuses the value that all
// of them are multiplied with. Each sum is a chain of fused multiply-adds in the order of the loops, except where a comment says otherwise.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/convolution_kernels.h"
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels {

namespace {

constexpr int kTile = sum_order::kConvolutionLanes;

// sums += value * row, for Width neighbouring channels.
template <int Width>
LOCKSTEP_HOST_DEVICE inline void multiply_add(float (&sums)[Width], float value, const float* row) {
  for (int j = 0; j < Width; ++j) sums[j] = fmaf(value, row[j], sums[j]);
}

// A whole tile at once; what is left over of the channels one by one.
template <typename Whole, typename Single>
LOCKSTEP_HOST_DEVICE inline void for_tile(std::int32_t channels, std::int64_t tile, Whole whole, Single single) {
  const auto first = static_cast<std::int32_t>(tile) * kTile;
  if (first + kTile <= channels) {
    whole(first);
  } else {
    for (std::int32_t k = first; k < channels; ++k) single(k);
  }
}

struct Place {
  std::int32_t n, top, left;  // of the window in the image
};

template <int Width>
LOCKSTEP_HOST_DEVICE inline void forward_tile(const ConvShape& s, const Place& at, std::int32_t k, const float* x, const float* filter,
                                              float* out) {
  float sums[Width] = {};
  for (std::int32_t r = 0; r < s.kernel_h; ++r) {
    const std::int32_t iy = at.top + r * s.dilation_h;
    if (iy < 0 || iy >= s.height) continue;
    for (std::int32_t q = 0; q < s.kernel_w; ++q) {
      const std::int32_t ix = at.left + q * s.dilation_w;
      if (ix < 0 || ix >= s.width) continue;
      const float* in = x + ((static_cast<std::int64_t>(at.n) * s.height + iy) * s.width + ix) * s.in_channels;
      const float* taps = filter + static_cast<std::int64_t>(r * s.kernel_w + q) * s.in_channels * s.out_channels + k;
      for (std::int32_t c = 0; c < s.in_channels; ++c) multiply_add(sums, in[c], taps + static_cast<std::int64_t>(c) * s.out_channels);
    }
  }
  for (int j = 0; j < Width; ++j) out[k + j] = sums[j];
}

// Sums are nested (a row of the image, an image, the batch), which keeps the rounding errors of long sums small.
template <int Width>
LOCKSTEP_HOST_DEVICE inline void filter_tile(const ConvShape& s, std::int32_t c, std::int32_t y_offset, std::int32_t x_offset,
                                             std::int32_t k, const float* x, const float* dy, float* out) {
  float total[Width] = {};
  for (std::int32_t n = 0; n < s.batch; ++n) {
    float image[Width] = {};
    for (std::int32_t oy = 0; oy < s.out_height; ++oy) {
      const std::int32_t iy = oy * s.stride_h + y_offset;
      if (iy < 0 || iy >= s.height) continue;
      float line[Width] = {};
      for (std::int32_t ox = 0; ox < s.out_width; ++ox) {
        const std::int32_t ix = ox * s.stride_w + x_offset;
        if (ix < 0 || ix >= s.width) continue;
        const float value = x[((static_cast<std::int64_t>(n) * s.height + iy) * s.width + ix) * s.in_channels + c];
        multiply_add(line, value, dy + ((static_cast<std::int64_t>(n) * s.out_height + oy) * s.out_width + ox) * s.out_channels + k);
      }
      for (int j = 0; j < Width; ++j) image[j] += line[j];
    }
    for (int j = 0; j < Width; ++j) total[j] += image[j];
  }
  for (int j = 0; j < Width; ++j) out[k + j] = total[j];
}

}  // namespace

__global__ void convolution_forward(ConvShape s, View<const float> x, View<const float> filter, View<float> y) {
  const std::int32_t tiles = (s.out_channels + kTile - 1) / kTile;
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width, [=](std::int64_t pixel) {
    const auto row = static_cast<std::int32_t>(pixel / s.out_width);
    const auto ox = static_cast<std::int32_t>(pixel % s.out_width);
    const Place at{row / s.out_height, row % s.out_height * s.stride_h - s.pad_top, ox * s.stride_w - s.pad_left};
    float* out = y.data + pixel * s.out_channels;
    each_thread(tiles, [=](std::int64_t tile) {
      for_tile(
          s.out_channels, tile, [=](std::int32_t k) { forward_tile<kTile>(s, at, k, x.data, filter.data, out); },
          [=](std::int32_t k) { forward_tile<1>(s, at, k, x.data, filter.data, out); });
    });
  });
}

// The sum over k has kTile lanes, lane j taking k = j, j + kTile, ..., over all taps; then lanes are added from the first to the last.
__global__ void convolution_backward_data(ConvShape s, View<const float> dy, View<const float> filter, View<float> dx) {
  each_block(static_cast<std::int64_t>(s.batch) * s.height * s.width, [=](std::int64_t pixel) {
    const auto row = static_cast<std::int32_t>(pixel / s.width);
    const auto ix = static_cast<std::int32_t>(pixel % s.width);
    const std::int32_t n = row / s.height;
    const std::int32_t iy = row % s.height;
    each_thread(s.in_channels, [=](std::int64_t c) {
      float lanes[kTile] = {};
      for (std::int32_t r = 0; r < s.kernel_h; ++r) {
        // The output row whose window has this input row at filter row r, times the stride.
        const std::int32_t y = iy + s.pad_top - r * s.dilation_h;
        if (y < 0 || y % s.stride_h != 0 || y / s.stride_h >= s.out_height) continue;
        for (std::int32_t q = 0; q < s.kernel_w; ++q) {
          const std::int32_t x = ix + s.pad_left - q * s.dilation_w;
          if (x < 0 || x % s.stride_w != 0 || x / s.stride_w >= s.out_width) continue;
          const std::int64_t out = (static_cast<std::int64_t>(n) * s.out_height + y / s.stride_h) * s.out_width + x / s.stride_w;
          const float* g = dy.data + out * s.out_channels;
          const float* taps = filter.data + (static_cast<std::int64_t>(r * s.kernel_w + q) * s.in_channels + c) * s.out_channels;
          std::int32_t k = 0;
          for (; k + kTile <= s.out_channels; k += kTile) {
            for (int j = 0; j < kTile; ++j) lanes[j] = fmaf(g[k + j], taps[k + j], lanes[j]);
          }
          for (int j = 0; k + j < s.out_channels; ++j) lanes[j] = fmaf(g[k + j], taps[k + j], lanes[j]);
        }
      }
      float sum = lanes[0];
      for (int j = 1; j < kTile; ++j) sum += lanes[j];
      dx[pixel * s.in_channels + c] = sum;
    });
  });
}

__global__ void convolution_backward_filter(ConvShape s, View<const float> x, View<const float> dy, View<float> dfilter) {
  const std::int32_t tiles = (s.out_channels + kTile - 1) / kTile;
  each_block(static_cast<std::int64_t>(s.kernel_h) * s.kernel_w * s.in_channels, [=](std::int64_t tap) {
    const auto c = static_cast<std::int32_t>(tap % s.in_channels);
    const auto rq = static_cast<std::int32_t>(tap / s.in_channels);
    const std::int32_t y_offset = rq / s.kernel_w * s.dilation_h - s.pad_top;
    const std::int32_t x_offset = rq % s.kernel_w * s.dilation_w - s.pad_left;
    float* out = dfilter.data + tap * s.out_channels;
    each_thread(tiles, [=](std::int64_t tile) {
      for_tile(
          s.out_channels, tile, [=](std::int32_t k) { filter_tile<kTile>(s, c, y_offset, x_offset, k, x.data, dy.data, out); },
          [=](std::int32_t k) { filter_tile<1>(s, c, y_offset, x_offset, k, x.data, dy.data, out); });
    });
  });
}

}  // namespace lockstep::kernels
