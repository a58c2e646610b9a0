// Depthwise convolutions whose window is 3 x 3 pixels, not dilated, with one filter a channel: those of MobileNet and its kin.
//
// A thread has a few channels (Lanes) and makes several neighbouring pixels of them at once: taps are loaded once for all of these, and so
// is what their windows share. Pixels whose window leaves the image are made one by one. Every sum is the same chain of fused multiply-adds
// as in the loops for any window, so which of the two ways was taken does not show in the bits.
#pragma once

#include <type_traits>

#include <backend/kernel_support.h>
#include <backend/lanes.h>
#include <backend/tuning.h>
#include "engine/kernels/depthwise_kernels.h"
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels::window3 {

constexpr std::int32_t kRun = tuning::kDepthwiseRun;
constexpr int kPixels = tuning::kDepthwisePixels;

LOCKSTEP_HOST_DEVICE inline bool fits(const DepthwiseShape& s) {
  return s.kernel_h == 3 && s.kernel_w == 3 && s.dilation_h == 1 && s.dilation_w == 1 && s.multiplier == 1 && s.stride_h == s.stride_w &&
         (s.stride_h == 1 || s.stride_h == 2);
}

LOCKSTEP_HOST_DEVICE inline std::int32_t runs_in(std::int32_t width) { return (width + kRun - 1) / kRun; }

// Rows of an image that a window's rows of taps [first, end) fall on; the first at `line`, the others `step` elements apart.
struct Lines {
  std::int32_t first, end;
  const float* line;
  std::int64_t step;
};

LOCKSTEP_HOST_DEVICE inline Lines at_column(Lines lines, std::int32_t column, std::int64_t channels) {
  lines.line += column * channels;
  return lines;
}

// f(first, end): the columns of a window beginning at `left` that lie inside the image, as constants.
template <typename Function>
LOCKSTEP_DEVICE void with_columns(std::int32_t left, std::int32_t width, const Function& f) {
  const std::int32_t first = left < 0 ? -left : 0;
  const std::int32_t end = left + 3 > width ? width - left : 3;
  if (first == 0 && end == 3) return f(std::integral_constant<int, 0>{}, std::integral_constant<int, 3>{});
  if (first == 1 && end == 3) return f(std::integral_constant<int, 1>{}, std::integral_constant<int, 3>{});
  if (first == 0 && end == 2) return f(std::integral_constant<int, 0>{}, std::integral_constant<int, 2>{});
  if (first == 1 && end == 2) return f(std::integral_constant<int, 1>{}, std::integral_constant<int, 2>{});
  if (first == 2 && end == 3) return f(std::integral_constant<int, 2>{}, std::integral_constant<int, 3>{});
  if (first == 0 && end == 1) return f(std::integral_constant<int, 0>{}, std::integral_constant<int, 1>{});
  f(std::integral_constant<int, 0>{}, std::integral_constant<int, 0>{});  // none
}

// `Count` neighbouring pixels, all of whose taps in columns [First, End) of the window fall inside the image; the others fall outside.
// `rows.line` is where the first pixel's window begins. Flipped: taps in descending order of columns, as the input's gradient has them.
template <int Width, int Stride, int Count, bool Flipped, int First = 0, int End = 3>
LOCKSTEP_DEVICE void pixels(const Lines& rows, const float* filter, std::int64_t channels, std::int64_t c, float* to) {
  constexpr int kColumns = (Count - 1) * Stride + 3;
  constexpr int kUsed = kColumns - 3 + End - First;  // of them, from column First on, or 3 - End if flipped
  Lanes<Width> sums[Count];
  LOCKSTEP_UNROLL
  for (int t = 0; t < Count; ++t) sums[t] = fill_lanes<Width>(0.0F);
  const float* line = rows.line + c;
  LOCKSTEP_NO_UNROLL
  for (std::int32_t r = rows.first; r < rows.end; ++r, line += rows.step) {
    Lanes<Width> taps[3];
    LOCKSTEP_UNROLL
    for (int q = First; q < End; ++q) taps[q] = load_lanes<Width>(filter + (r * 3 + q) * channels);
    // By columns, each loaded once: from left to right, or from right to left, so that every sum takes its taps in ascending order.
    LOCKSTEP_UNROLL
    for (int k = 0; k < kUsed; ++k) {
      const int column = Flipped ? kUsed - 1 - k + 3 - End : k + First;
      const Lanes<Width> in = load_lanes<Width>(line + column * channels);
      LOCKSTEP_UNROLL
      for (int t = 0; t < Count; ++t) {
        const int q = Flipped ? 2 - (column - t * Stride) : column - t * Stride;
        if (q >= First && q < End) sums[t] = fused(in, taps[q], sums[t]);
      }
      if (Count == kPixels && Stride == 2 && k < Count * Stride) prefetch(line + (k + kColumns) * channels);
    }
  }
  if (Count == kPixels) {
    LOCKSTEP_UNROLL
    for (int t = 0; t < Count; ++t) {
      if (Stride == 1) prefetch((Flipped ? rows.line + c : line - rows.step) + (t + kColumns) * channels);
      prefetch_for_writing(to + (t + Count) * channels);
    }
  }
  LOCKSTEP_UNROLL
  for (int t = 0; t < Count; ++t) store_lanes<Width>(to + t * channels, sums[t]);
}

// Pixels [x, end) of a row. Pixel x's window begins at column x * Stride + offset of an image `width` pixels wide; `rows.line` is that
// image's column 0, and `to` pixel 0.
template <int Stride, bool Flipped>
LOCKSTEP_DEVICE void row_of_pixels(const Lines& rows, std::int32_t x, std::int32_t end, std::int32_t offset, std::int32_t width,
                                   const float* filter, std::int64_t channels, float* to) {
  while (x < end) {
    const std::int32_t left = x * Stride + offset;
    const Lines here = at_column(rows, left, channels);
    float* const out = to + x * channels;
    if (left < 0 || left + 3 > width) {
      with_columns(left, width, [=](auto first, auto last) {
        // Flipped, tap q falls on column 2 - q.
        constexpr int kFirst = Flipped ? 3 - decltype(last)::value : decltype(first)::value;
        constexpr int kEnd = Flipped ? 3 - decltype(first)::value : decltype(last)::value;
        each_lanes(channels, [=](std::int64_t c, auto count) {
          pixels<decltype(count)::kValue, Stride, 1, Flipped, kFirst, kEnd>(here, filter + c, channels, c, out + c);
        });
      });
      ++x;
    } else if (x + kPixels <= end && left + (kPixels - 1) * Stride + 3 <= width) {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        pixels<decltype(count)::kValue, Stride, kPixels, Flipped>(here, filter + c, channels, c, out + c);
      });
      x += kPixels;
    } else if (x + 2 <= end && left + Stride + 3 <= width) {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        pixels<decltype(count)::kValue, Stride, 2, Flipped>(here, filter + c, channels, c, out + c);
      });
      x += 2;
    } else {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        pixels<decltype(count)::kValue, Stride, 1, Flipped>(here, filter + c, channels, c, out + c);
      });
      ++x;
    }
  }
}

// The input's gradient with stride 2: a pixel in an even place (of the padded image) was seen through taps 0 and 2, one in an odd place
// through tap 1, along either axis. `Pairs` pairs of such pixels; `line` of `rows` is the output column left of the first pair's.
template <int Width, int Pairs>
LOCKSTEP_DEVICE void inner_pairs(const Lines& rows, const float* filter, std::int64_t channels, std::int64_t c, float* to) {
  Lanes<Width> even[Pairs], odd[Pairs];
  LOCKSTEP_UNROLL
  for (int t = 0; t < Pairs; ++t) even[t] = odd[t] = fill_lanes<Width>(0.0F);
  const float* line = rows.line + c;
  LOCKSTEP_NO_UNROLL
  for (std::int32_t r = rows.first; r < rows.end; r += 2, line += rows.step) {
    const float* taps = filter + r * 3 * channels;
    const Lanes<Width> tap0 = load_lanes<Width>(taps);
    const Lanes<Width> tap1 = load_lanes<Width>(taps + channels);
    const Lanes<Width> tap2 = load_lanes<Width>(taps + 2 * channels);
    LOCKSTEP_UNROLL
    for (int t = 0; t < Pairs; ++t) {
      const Lanes<Width> before = load_lanes<Width>(line + t * channels);
      const Lanes<Width> here = load_lanes<Width>(line + (t + 1) * channels);
      even[t] = fused(before, tap2, fused(here, tap0, even[t]));
      odd[t] = fused(here, tap1, odd[t]);
    }
  }
  LOCKSTEP_UNROLL
  for (int t = 0; t < Pairs; ++t) {
    store_lanes<Width>(to + 2 * t * channels, even[t]);
    store_lanes<Width>(to + (2 * t + 1) * channels, odd[t]);
  }
}

// One pixel of it at an edge, in place `px` of the padded image.
template <int Width>
LOCKSTEP_DEVICE void edge_of_pairs(const Lines& rows, std::int32_t px, std::int32_t out_width, const float* filter, std::int64_t channels,
                                   std::int64_t c, float* to) {
  Lanes<Width> sum = fill_lanes<Width>(0.0F);
  const float* line = rows.line + c;
  for (std::int32_t r = rows.first; r < rows.end; r += 2, line += rows.step)
    for (std::int32_t q = px % 2; q < 3 && q <= px; q += 2) {
      const std::int32_t ox = (px - q) / 2;
      if (ox < out_width) sum = fused(load_lanes<Width>(line + ox * channels), load_lanes<Width>(filter + (r * 3 + q) * channels), sum);
    }
  store_lanes<Width>(to, sum);
}

// Pixels [x, end) of a row of it. `rows.line` is the output gradient's column 0, `to` pixel 0.
LOCKSTEP_DEVICE void row_of_pairs(const Lines& rows, std::int32_t x, std::int32_t end, std::int32_t pad, std::int32_t out_width,
                                  const float* filter, std::int64_t channels, float* to) {
  while (x < end) {
    const std::int32_t px = x + pad;
    const std::int32_t ox = px / 2;
    float* const out = to + x * channels;
    const bool pair = px % 2 == 0 && ox >= 1 && ox < out_width && x + 2 <= end;
    const Lines here = at_column(rows, pair ? ox - 1 : 0, channels);
    if (pair && x + kPixels <= end && ox + kPixels / 2 - 1 < out_width) {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        inner_pairs<decltype(count)::kValue, kPixels / 2>(here, filter + c, channels, c, out + c);
      });
      x += kPixels;
    } else if (pair) {
      each_lanes(channels,
                 [=](std::int64_t c, auto count) { inner_pairs<decltype(count)::kValue, 1>(here, filter + c, channels, c, out + c); });
      x += 2;
    } else {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        edge_of_pairs<decltype(count)::kValue>(here, px, out_width, filter + c, channels, c, out + c);
      });
      ++x;
    }
  }
}

// The filter's gradient: adds to `total` (3 x 3, `channels` apart) the share of `Count` neighbouring outputs, the sum of x(window) *
// dy. Taps in columns [First, End) of the window fall inside the image. `rows.line` is where the first output's window begins.
template <int Width, int Stride, int Count, int First, int End>
LOCKSTEP_DEVICE void filter_pixels(const Lines& rows, const float* dy, std::int64_t channels, std::int64_t c, float* total) {
  constexpr int kColumns = (Count - 1) * Stride + 3;
  Lanes<Width> d[Count];
  LOCKSTEP_UNROLL
  for (int t = 0; t < Count; ++t) {
    d[t] = load_lanes<Width>(dy + t * channels);
    if (Count == sum_order::kFilterPixels) prefetch(dy + (t + Count) * channels);
  }
  const float* line = rows.line + c;
  LOCKSTEP_NO_UNROLL
  for (std::int32_t r = rows.first; r < rows.end; ++r, line += rows.step) {
    Lanes<Width> sums[3];
    LOCKSTEP_UNROLL
    for (int q = First; q < End; ++q) sums[q] = fill_lanes<Width>(0.0F);
    LOCKSTEP_UNROLL
    for (int column = First; column < kColumns - 3 + End; ++column) {
      const Lanes<Width> in = load_lanes<Width>(line + column * channels);
      LOCKSTEP_UNROLL
      for (int t = 0; t < Count; ++t) {
        const int q = column - t * Stride;
        if (q >= First && q < End) sums[q] = fused(in, d[t], sums[q]);
      }
      if (Count == sum_order::kFilterPixels && Stride == 2 && column < Count * Stride) prefetch(line + (column + kColumns) * channels);
    }
    LOCKSTEP_UNROLL
    for (int q = First; q < End; ++q) {
      float* to = total + (r * 3 + q) * channels;
      store_lanes<Width>(to, load_lanes<Width>(to) + sums[q]);
    }
  }
  if (Count == sum_order::kFilterPixels && Stride == 1) {
    LOCKSTEP_UNROLL
    for (int t = 0; t < Count; ++t) prefetch(line - rows.step + (t + kColumns) * channels);
  }
}

// All outputs of a row. `rows.line` is column 0 of the images, `dy` output 0.
template <int Stride>
LOCKSTEP_DEVICE void row_of_filter(const Lines& rows, std::int32_t pad, std::int32_t width, std::int32_t out_width, const float* dy,
                                   std::int64_t channels, float* total) {
  constexpr int kTogether = sum_order::kFilterPixels;
  std::int32_t x = 0;
  while (x < out_width) {
    const std::int32_t left = x * Stride - pad;
    const Lines here = at_column(rows, left, channels);
    const float* const d = dy + x * channels;
    const bool inside = left >= 0 && left + 3 <= width;
    if (inside && x + kTogether <= out_width && left + (kTogether - 1) * Stride + 3 <= width) {
      each_lanes(channels, [=](std::int64_t c, auto count) {
        filter_pixels<decltype(count)::kValue, Stride, kTogether, 0, 3>(here, d + c, channels, c, total + c);
      });
      x += kTogether;
    } else {
      with_columns(left, width, [=](auto first, auto end) {
        each_lanes(channels, [=](std::int64_t c, auto count) {
          filter_pixels<decltype(count)::kValue, Stride, 1, decltype(first)::value, decltype(end)::value>(here, d + c, channels, c,
                                                                                                          total + c);
        });
      });
      ++x;
    }
  }
}

}  // namespace lockstep::kernels::window3
