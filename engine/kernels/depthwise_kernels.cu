// Depthwise convolutions, NHWC images.
//
// A thread makes up to kTile neighbouring output channels at once, in registers: on a CPU that is a vector or two. Each sum is a chain of
// fused multiply-adds in the order of the loops, so the tile does not show in the bits.
#include <cmath>

#include <backend/kernel_support.h>
#include <backend/tuning.h>
#include "engine/kernels/depthwise_kernels.h"
#include "engine/kernels/depthwise_window3.h"
#include "engine/kernels/pixel.h"

namespace lockstep::kernels {

namespace {

constexpr int kTile = tuning::kDepthwiseTile;

LOCKSTEP_HOST_DEVICE inline std::int64_t tiles_of(std::int64_t channels) { return (channels + kTile - 1) / kTile; }

template <int Value>
struct Width {
  static constexpr int kValue = Value;
};

// f(first channel, Width<w>) over the channels of a tile: whole, or as a half and ones.
template <typename Function>
LOCKSTEP_HOST_DEVICE inline void for_tile(std::int64_t channels, std::int64_t tile, bool vectors, Function f) {
  std::int64_t c = tile * kTile;
  const std::int64_t end = c + kTile < channels ? c + kTile : channels;
  if (vectors && end - c == kTile) {
    f(c, Width<kTile>{});
    return;
  }
  if (vectors && end - c >= kTile / 2) {
    f(c, Width<kTile / 2>{});
    c += kTile / 2;
  }
  for (; c < end; ++c) f(c, Width<1>{});
}

// The run of taps along one axis that fall inside the image, for a window that starts at `start` (which may be negative).
struct Taps {
  std::int32_t first, end;
};
LOCKSTEP_HOST_DEVICE inline Taps taps_inside(std::int32_t start, std::int32_t taps, std::int32_t dilation, std::int32_t extent) {
  std::int32_t first = 0;
  while (first < taps && start + first * dilation < 0) ++first;
  std::int32_t end = taps;
  while (end > first && start + (end - 1) * dilation >= extent) --end;
  return {first, end};
}

// The images' rows that the window of output row `oy` falls on.
LOCKSTEP_HOST_DEVICE inline window3::Lines lines_for_output(const DepthwiseShape& s, const float* x, std::int32_t n, std::int32_t oy) {
  const std::int32_t top = oy * s.stride_h - s.pad_top;
  const Taps rows = taps_inside(top, 3, 1, s.height);
  const std::int64_t row = static_cast<std::int64_t>(s.width) * s.channels;
  return {rows.first, rows.end, x + (static_cast<std::int64_t>(n) * s.height + top + rows.first) * row, row};
}

// Rows of outputs that input row `iy` had a part in, by taps in ascending order: with stride 2 every other tap.
LOCKSTEP_HOST_DEVICE inline window3::Lines lines_for_input(const DepthwiseShape& s, const float* dy, std::int32_t n, std::int32_t iy) {
  const std::int32_t py = iy + s.pad_top;
  const std::int64_t row = static_cast<std::int64_t>(s.out_width) * s.channels;
  std::int32_t first = s.stride_h == 1 ? 0 : py % 2;
  while (first < 3 && (py - first) / s.stride_h >= s.out_height) first += s.stride_h;
  std::int32_t end = 3;
  while (end > first && end - 1 > py) --end;
  return {first, end, dy + (static_cast<std::int64_t>(n) * s.out_height + (py - first) / s.stride_h) * row, -row};
}

LOCKSTEP_DEVICE void forward_window3(const DepthwiseShape& s, View<const float> x, View<const float> filter, View<float> y) {
  const std::int32_t runs = window3::runs_in(s.out_width);
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * runs, [=](std::int64_t index) {
    const Pixel at = pixel_at(index, s.out_height, runs);
    const window3::Lines rows = lines_for_output(s, x.data, at.n, at.y);
    const std::int32_t first = at.x * window3::kRun;
    const std::int32_t end = first + window3::kRun < s.out_width ? first + window3::kRun : s.out_width;
    float* to = y.data + (static_cast<std::int64_t>(at.n) * s.out_height + at.y) * s.out_width * s.channels;
    if (s.stride_w == 1) {
      window3::row_of_pixels<1, false>(rows, first, end, -s.pad_left, s.width, filter.data, s.channels, to);
    } else {
      window3::row_of_pixels<2, false>(rows, first, end, -s.pad_left, s.width, filter.data, s.channels, to);
    }
  });
}

LOCKSTEP_DEVICE void backward_data_window3(const DepthwiseShape& s, View<const float> dy, View<const float> filter, View<float> dx) {
  const std::int32_t runs = window3::runs_in(s.width);
  each_block(static_cast<std::int64_t>(s.batch) * s.height * runs, [=](std::int64_t index) {
    const Pixel at = pixel_at(index, s.height, runs);
    const window3::Lines rows = lines_for_input(s, dy.data, at.n, at.y);
    const std::int32_t first = at.x * window3::kRun;
    const std::int32_t end = first + window3::kRun < s.width ? first + window3::kRun : s.width;
    float* to = dx.data + (static_cast<std::int64_t>(at.n) * s.height + at.y) * s.width * s.channels;
    if (s.stride_w == 1) {
      window3::row_of_pixels<1, true>(rows, first, end, s.pad_left - 2, s.out_width, filter.data, s.channels, to);
    } else {
      window3::row_of_pairs(rows, first, end, s.pad_left, s.out_width, filter.data, s.channels, to);
    }
  });
}

LOCKSTEP_DEVICE void backward_filter_window3(const DepthwiseShape& s, View<const float> x, View<const float> dy, View<float> partial) {
  const std::int64_t chunks = depthwise_chunks(s);
  const std::int64_t all_rows = static_cast<std::int64_t>(s.batch) * s.out_height;
  const std::int64_t run = (all_rows + chunks - 1) / chunks;
  each_block(chunks, [=](std::int64_t chunk) {
    const std::int64_t first = chunk * run < all_rows ? chunk * run : all_rows;
    const std::int64_t end = first + run < all_rows ? first + run : all_rows;
    float* to = partial.data + chunk * 9 * s.channels;
    each_lanes(s.channels, [=](std::int64_t c, auto count) {
      for (int tap = 0; tap < 9; ++tap) store_lanes(to + tap * s.channels + c, fill_lanes<decltype(count)::kValue>(0.0F));
    });
    // A thread comes back to the same channels every time.
    for (std::int64_t row = first; row < end; ++row) {
      const auto n = static_cast<std::int32_t>(row / s.out_height);
      const window3::Lines rows = lines_for_output(s, x.data, n, static_cast<std::int32_t>(row % s.out_height));
      const float* d = dy.data + row * s.out_width * s.channels;
      if (s.stride_w == 1) {
        window3::row_of_filter<1>(rows, s.pad_left, s.width, s.out_width, d, s.channels, to);
      } else {
        window3::row_of_filter<2>(rows, s.pad_left, s.width, s.out_width, d, s.channels, to);
      }
    }
  });
}

}  // namespace

__global__ void depthwise_forward(DepthwiseShape s, View<const float> x, View<const float> filter, View<float> y) {
  if (window3::fits(s)) return forward_window3(s, x, filter, y);
  const std::int64_t outputs = static_cast<std::int64_t>(s.channels) * s.multiplier;
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width, [=](std::int64_t index) {
    const Pixel out = pixel_at(index, s.out_height, s.out_width);
    const std::int32_t top = out.y * s.stride_h - s.pad_top;
    const std::int32_t left = out.x * s.stride_w - s.pad_left;
    const Taps rows = taps_inside(top, s.kernel_h, s.dilation_h, s.height);
    const Taps columns = taps_inside(left, s.kernel_w, s.dilation_w, s.width);
    const float* image = x.data + static_cast<std::int64_t>(out.n) * s.height * s.width * s.channels;
    float* to = y.data + index * outputs;
    each_thread(tiles_of(outputs), [=](std::int64_t tile) {
      for_tile(outputs, tile, s.multiplier == 1, [=](std::int64_t k, auto width) {
        constexpr int kWidth = decltype(width)::kValue;
        const std::int64_t c = kWidth == 1 ? k / s.multiplier : k;
        float sums[kWidth] = {};
        for (std::int32_t r = rows.first; r < rows.end; ++r) {
          const float* line = image + static_cast<std::int64_t>(top + r * s.dilation_h) * s.width * s.channels + c;
          for (std::int32_t q = columns.first; q < columns.end; ++q) {
            const float* in = line + static_cast<std::int64_t>(left + q * s.dilation_w) * s.channels;
            const float* taps = filter.data + static_cast<std::int64_t>(r * s.kernel_w + q) * outputs + k;
            for (int j = 0; j < kWidth; ++j) sums[j] = fmaf(in[j], taps[j], sums[j]);
          }
        }
        for (int j = 0; j < kWidth; ++j) to[k + j] = sums[j];
      });
    });
  });
}

__global__ void depthwise_backward_data(DepthwiseShape s, View<const float> dy, View<const float> filter, View<float> dx) {
  if (window3::fits(s)) return backward_data_window3(s, dy, filter, dx);
  const std::int64_t outputs = static_cast<std::int64_t>(s.channels) * s.multiplier;
  each_block(static_cast<std::int64_t>(s.batch) * s.height * s.width, [=](std::int64_t index) {
    const Pixel in = pixel_at(index, s.height, s.width);
    const float* image = dy.data + static_cast<std::int64_t>(in.n) * s.out_height * s.out_width * outputs;
    float* to = dx.data + index * s.channels;
    each_thread(tiles_of(s.channels), [=](std::int64_t tile) {
      for_tile(s.channels, tile, s.multiplier == 1, [=](std::int64_t c, auto width) {
        constexpr int kWidth = decltype(width)::kValue;
        float sums[kWidth] = {};
        for (std::int32_t r = 0; r < s.kernel_h; ++r) {
          const std::int32_t y = in.y + s.pad_top - r * s.dilation_h;
          if (y < 0 || y % s.stride_h != 0 || y / s.stride_h >= s.out_height) continue;
          const float* line = image + static_cast<std::int64_t>(y / s.stride_h) * s.out_width * outputs;
          for (std::int32_t q = 0; q < s.kernel_w; ++q) {
            const std::int32_t x = in.x + s.pad_left - q * s.dilation_w;
            if (x < 0 || x % s.stride_w != 0 || x / s.stride_w >= s.out_width) continue;
            const float* from = line + static_cast<std::int64_t>(x / s.stride_w) * outputs + c * s.multiplier;
            const float* taps = filter.data + static_cast<std::int64_t>(r * s.kernel_w + q) * outputs + c * s.multiplier;
            if constexpr (kWidth > 1) {
              for (int j = 0; j < kWidth; ++j) sums[j] = fmaf(from[j], taps[j], sums[j]);
            } else {
              for (std::int32_t m = 0; m < s.multiplier; ++m) sums[0] = fmaf(from[m], taps[m], sums[0]);
            }
          }
        }
        for (int j = 0; j < kWidth; ++j) to[c + j] = sums[j];
      });
    });
  });
}

// Sums are nested (a row of pixels, a chunk of rows, and `add_chunks` behind this kernel), which keeps the rounding errors of long
// sums small. A tap's row of pixels is cut to those whose input lies inside the image before the loop over it.
__global__ void depthwise_backward_filter(DepthwiseShape s, View<const float> x, View<const float> dy, View<float> partial) {
  if (window3::fits(s)) return backward_filter_window3(s, x, dy, partial);
  const std::int64_t outputs = static_cast<std::int64_t>(s.channels) * s.multiplier;
  const std::int64_t chunks = depthwise_chunks(s);
  const std::int64_t all_rows = static_cast<std::int64_t>(s.batch) * s.out_height;
  const std::int64_t run = (all_rows + chunks - 1) / chunks;
  each_block(chunks, [=](std::int64_t chunk) {
    const std::int64_t first = chunk * run < all_rows ? chunk * run : all_rows;
    const std::int64_t end = first + run < all_rows ? first + run : all_rows;
    float* to = partial.data + chunk * s.kernel_h * s.kernel_w * outputs;
    each_thread(tiles_of(outputs), [=](std::int64_t tile) {
      for_tile(outputs, tile, s.multiplier == 1, [=](std::int64_t k, auto width) {
        constexpr int kWidth = decltype(width)::kValue;
        const std::int64_t c = kWidth == 1 ? k / s.multiplier : k;
        for (std::int32_t tap = 0; tap < s.kernel_h * s.kernel_w; ++tap) {
          const std::int32_t y_offset = tap / s.kernel_w * s.dilation_h - s.pad_top;
          const std::int32_t x_offset = tap % s.kernel_w * s.dilation_w - s.pad_left;
          std::int32_t ox0 = 0;
          while (ox0 < s.out_width && ox0 * s.stride_w + x_offset < 0) ++ox0;
          std::int32_t ox1 = s.out_width;
          while (ox1 > ox0 && (ox1 - 1) * s.stride_w + x_offset >= s.width) --ox1;
          float total[kWidth] = {};
          for (std::int64_t row = first; row < end; ++row) {
            const auto n = static_cast<std::int32_t>(row / s.out_height);
            const std::int32_t iy = static_cast<std::int32_t>(row % s.out_height) * s.stride_h + y_offset;
            if (iy < 0 || iy >= s.height) continue;
            const float* in = x.data + (static_cast<std::int64_t>(n) * s.height + iy) * s.width * s.channels + c;
            const float* from = dy.data + row * s.out_width * outputs + k;
            float sums[kWidth] = {};
            for (std::int32_t ox = ox0; ox < ox1; ++ox) {
              const float* v = in + static_cast<std::int64_t>(ox * s.stride_w + x_offset) * s.channels;
              const float* d = from + ox * outputs;
              for (int j = 0; j < kWidth; ++j) sums[j] = fmaf(v[j], d[j], sums[j]);
            }
            for (int j = 0; j < kWidth; ++j) total[j] += sums[j];
          }
          for (int j = 0; j < kWidth; ++j) to[tap * outputs + k + j] = total[j];
        }
      });
    });
  });
}

}  // namespace lockstep::kernels
