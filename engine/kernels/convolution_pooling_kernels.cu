// Convolution, bias, ReLU and max pooling as one, forward and gradient.
#include "engine/kernels/convolution_pooling_kernels.h"

#include <backend/kernel_support.h>
#include <backend/lane_choice.h>
#include <backend/tuning.h>

namespace lockstep::kernels {

namespace {

// Width: neighbouring channels in a register. Vectors: how many of these a thread has.
constexpr int kPoolWidth = 2;
constexpr std::int32_t kSegment = tuning::kWindowsTogether;
constexpr int kManyTaps = kRegisters / 4;  // of two vectors each: half of the registers

// 3 x 3 taps of one channel run in functions of which the compiler knows all loops.
LOCKSTEP_HOST_DEVICE inline bool is_3x3(const ConvolutionPoolingShape& s) {
  return s.kernel_h == 3 && s.kernel_w == 3 && s.in_channels == 1;
}

// What a thread makes: windows first ... last - 1 of a row, all the same channels.
struct Strip {
  std::int64_t row;  // among batch x out_height
  std::int32_t first, last, channel;
};

LOCKSTEP_HOST_DEVICE inline std::int32_t segments_of(const ConvolutionPoolingShape& s) { return (s.out_width + kSegment - 1) / kSegment; }

template <int Width, int Vectors>
LOCKSTEP_DEVICE std::int32_t tiles_of(const ConvolutionPoolingShape& s) {
  return s.out_channels / (Vectors * Width);
}
// How far apart the vectors of a thread are.
template <int Width, int Vectors>
LOCKSTEP_DEVICE std::int32_t apart_in(const ConvolutionPoolingShape& s) {
  return vectors_apart<Width>(tiles_of<Width, Vectors>(s));
}

template <int Width, int Vectors>
LOCKSTEP_DEVICE Strip strip_at(const ConvolutionPoolingShape& s, std::int64_t index) {
  const std::int32_t tiles = tiles_of<Width, Vectors>(s);
  const std::int32_t segments = segments_of(s);
  const auto tile = static_cast<std::int32_t>(index % tiles);
  const std::int64_t above = index / tiles;
  const std::int32_t first = static_cast<std::int32_t>(above % segments) * kSegment;
  const std::int32_t last = first + kSegment < s.out_width ? first + kSegment : s.out_width;
  return {above / segments, first, last, first_of_tile<Width, Vectors>(tile)};
}

// The first pixel that a window of this row sees.
LOCKSTEP_HOST_DEVICE inline std::int64_t row_of_image(const ConvolutionPoolingShape& s, std::int64_t row) {
  return (row / s.out_height * s.height + row % s.out_height * s.pool_h) * s.width * s.in_channels;
}

template <int Width, int PoolH>
LOCKSTEP_DEVICE void finish(Lanes<Width> (&sums)[PoolH * kPoolWidth], bool with_relu, const float* shift, float* y, std::uint8_t* winners) {
  // Read here: registers are for the sums.
  const Lanes<Width> bias = shift != nullptr ? load_lanes<Width>(shift) : fill_lanes<Width>(0.0F);
  Lanes<Width> best = sums[0] + bias;
  LaneChoice<Width> choice = LaneChoice<Width>::first();
  for (int p = 1; p < PoolH * kPoolWidth; ++p) challenge(best, choice, sums[p] + bias, p);
  store_lanes<Width>(y, with_relu ? relu(best) : best);
  if (winners != nullptr) (with_relu ? where_positive(choice, best) : choice).store(winners);
}

// Windows ox ... ox + Windows - 1, a few vectors of channels each: as many sums as registers hold, so that a weight is read once for them.
template <int Width, int PoolH, int Vectors, int Windows>
LOCKSTEP_DEVICE void make_windows(const ConvolutionPoolingShape& s, const Strip& strip, std::int32_t ox, bool with_relu, const float* image,
                                  const float* filter, const float* bias, float* y, std::uint8_t* winners) {
  constexpr int kPixels = PoolH * kPoolWidth;
  const std::int32_t apart = apart_in<Width, Vectors>(s);
  const std::int64_t row = static_cast<std::int64_t>(s.width) * s.in_channels;
  const std::int32_t run = s.kernel_w * s.in_channels;  // taps of a row lie side by side, in the filter and in the image
  Lanes<Width> sums[Windows][Vectors][kPixels];
  for (int w = 0; w < Windows; ++w)
    for (int v = 0; v < Vectors; ++v)
      for (int p = 0; p < kPixels; ++p) sums[w][v][p] = fill_lanes<Width>(0.0F);
  const float* taps = filter + strip.channel;
  for (std::int32_t r = 0; r < s.kernel_h; ++r) {
    const float* in = image + r * row + static_cast<std::int64_t>(ox) * kPoolWidth * s.in_channels;
    for (std::int32_t t = 0; t < run; ++t, taps += s.out_channels) {
      Lanes<Width> weights[Vectors];
      for (int v = 0; v < Vectors; ++v) weights[v] = load_lanes<Width>(taps + v * apart);
      for (int w = 0; w < Windows; ++w) {
        for (int p = 0; p < kPixels; ++p) {
          const Lanes<Width> value = fill_lanes<Width>(in[p / kPoolWidth * row + (w * kPoolWidth + p % kPoolWidth) * s.in_channels + t]);
          for (int v = 0; v < Vectors; ++v) sums[w][v][p] = fused(value, weights[v], sums[w][v][p]);
        }
      }
    }
  }
  for (int w = 0; w < Windows; ++w) {
    const std::int64_t at = static_cast<std::int64_t>(ox + w) * s.out_channels + strip.channel;
    for (int v = 0; v < Vectors; ++v)
      finish<Width, PoolH>(sums[w][v], with_relu, bias != nullptr ? bias + v * apart : nullptr, y + at + v * apart,
                           winners != nullptr ? winners + at + v * apart : nullptr);
  }
}

template <int Width, int PoolH, int Vectors>
LOCKSTEP_DEVICE void make_strip(const ConvolutionPoolingShape& s, const Strip& strip, bool with_relu, const float* image,
                                const float* filter, const float* bias, float* y, std::uint8_t* winners) {
  // Sums in half of the registers, where a thread has as many windows.
  constexpr int kMost = kRegisters / 2 / (PoolH * kPoolWidth * Vectors);
  constexpr int kAtOnce = kMost < kSegment ? kMost : kSegment;
  std::int32_t ox = strip.first;
  if constexpr (kAtOnce > 1)
    for (; ox + kAtOnce <= strip.last; ox += kAtOnce)
      make_windows<Width, PoolH, Vectors, kAtOnce>(s, strip, ox, with_relu, image, filter, bias, y, winners);
  for (; ox < strip.last; ++ox) make_windows<Width, PoolH, Vectors, 1>(s, strip, ox, with_relu, image, filter, bias, y, winners);
}

// 3 x 3 taps of one channel: the compiler knows all loops, and unrolls them; where there are registers enough it keeps the filter in them.
template <int Width, int PoolH, int Vectors>
LOCKSTEP_DEVICE void make_strip_3x3(const ConvolutionPoolingShape& s, const Strip& strip, bool with_relu, const float* image,
                                    const float* filter, const float* bias, float* y, std::uint8_t* winners) {
  constexpr int kPixels = PoolH * kPoolWidth;
  const std::int32_t apart = apart_in<Width, Vectors>(s);
  const float* lines[PoolH + 2];
  for (int iy = 0; iy < PoolH + 2; ++iy) lines[iy] = image + static_cast<std::int64_t>(iy) * s.width;
  const float* taps[3];
  for (int r = 0; r < 3; ++r) taps[r] = filter + static_cast<std::int64_t>(3 * r) * s.out_channels + strip.channel;
  for (std::int32_t ox = strip.first; ox < strip.last; ++ox) {
    Lanes<Width> sums[Vectors][kPixels];
    for (int v = 0; v < Vectors; ++v)
      for (int p = 0; p < kPixels; ++p) sums[v][p] = fill_lanes<Width>(0.0F);
    for (int r = 0; r < 3; ++r) {
      for (int q = 0; q < 3; ++q) {
        Lanes<Width> weights[Vectors];
        for (int v = 0; v < Vectors; ++v)
          weights[v] = load_lanes<Width>(taps[r] + static_cast<std::int64_t>(q) * s.out_channels + v * apart);
        for (int p = 0; p < kPixels; ++p) {
          const Lanes<Width> value = fill_lanes<Width>(lines[r + p / kPoolWidth][ox * kPoolWidth + q + p % kPoolWidth]);
          for (int v = 0; v < Vectors; ++v) sums[v][p] = fused(value, weights[v], sums[v][p]);
        }
      }
    }
    const std::int64_t at = static_cast<std::int64_t>(ox) * s.out_channels + strip.channel;
    for (int v = 0; v < Vectors; ++v)
      finish<Width, PoolH>(sums[v], with_relu, bias != nullptr ? bias + v * apart : nullptr, y + at + v * apart,
                           winners != nullptr ? winners + at + v * apart : nullptr);
  }
}

template <int Width, int PoolH, int Vectors>
LOCKSTEP_DEVICE void make_strips(const ConvolutionPoolingShape& s, bool with_relu, View<const float> x, View<const float> filter,
                                 View<const float> bias, View<float> y, View<std::uint8_t> winners) {
  const std::int64_t strips = static_cast<std::int64_t>(s.batch) * s.out_height * segments_of(s) * tiles_of<Width, Vectors>(s);
  const bool small = is_3x3(s);
  each_in_grid(strips, [=](std::int64_t index) {
    const Strip strip = strip_at<Width, Vectors>(s, index);
    const float* image = x.data + row_of_image(s, strip.row);
    const std::int64_t out = strip.row * s.out_width * s.out_channels;
    const float* const shift = bias.count > 0 ? bias.data + strip.channel : nullptr;
    std::uint8_t* const who = winners.count > 0 ? winners.data + out : nullptr;
    if (small) {
      make_strip_3x3<Width, PoolH, Vectors>(s, strip, with_relu, image, filter.data, shift, y.data + out, who);
    } else {
      make_strip<Width, PoolH, Vectors>(s, strip, with_relu, image, filter.data, shift, y.data + out, who);
    }
  });
}

// Adds an image's sums to those of the images before it in the chunk: sums are nested, which keeps rounding errors small.
template <int Width>
LOCKSTEP_DEVICE void add_image(Lanes<Width> image, bool first, float* to) {
  store_lanes<Width>(to, first ? image : load_lanes<Width>(to) + image);
}

// Taps tap ... tap + Taps - 1 of a row of the filter, a few vectors of channels, summed over samples first_sample ... last_sample - 1.
template <int Width, int PoolH, int Taps, int Vectors>
LOCKSTEP_DEVICE void sum_taps(const ConvolutionPoolingShape& s, std::int32_t first_sample, std::int32_t last_sample, std::int32_t row,
                              std::int32_t tap, std::int32_t channel, const float* x, const float* dy, const std::uint8_t* winners,
                              float* sums) {
  const std::int32_t apart = apart_in<Width, Vectors>(s);
  const std::int64_t width = static_cast<std::int64_t>(s.width) * s.in_channels;
  for (std::int32_t n = first_sample; n < last_sample; ++n) {
    Lanes<Width> image[Taps][Vectors];
    for (int t = 0; t < Taps; ++t)
      for (int v = 0; v < Vectors; ++v) image[t][v] = fill_lanes<Width>(0.0F);
    for (std::int32_t oy = 0; oy < s.out_height; ++oy) {
      const std::int64_t line = static_cast<std::int64_t>(n) * s.out_height + oy;
      const float* in = x + row_of_image(s, line) + row * width + tap;
      std::int64_t at = line * s.out_width * s.out_channels + channel;
      for (std::int32_t ox = 0; ox < s.out_width; ++ox, at += s.out_channels, in += kPoolWidth * s.in_channels) {
        LaneChoice<Width> choice[Vectors];
        for (int v = 0; v < Vectors; ++v) choice[v] = LaneChoice<Width>::load(winners + at + v * apart);
        for (int p = 0; p < PoolH * kPoolWidth; ++p) {
          Lanes<Width> here[Vectors];
          for (int v = 0; v < Vectors; ++v) here[v] = where_chosen(choice[v], p, load_lanes<Width>(dy + at + v * apart));
          const float* pixel = in + p / kPoolWidth * width + p % kPoolWidth * s.in_channels;
          for (int t = 0; t < Taps; ++t) {
            const Lanes<Width> value = fill_lanes<Width>(pixel[t]);
            for (int v = 0; v < Vectors; ++v) image[t][v] = fused(value, here[v], image[t][v]);
          }
        }
      }
    }
    float* to = sums + (static_cast<std::int64_t>(row) * s.kernel_w * s.in_channels + tap) * s.out_channels + channel;
    for (int t = 0; t < Taps; ++t)
      for (int v = 0; v < Vectors; ++v) add_image(image[t][v], n == first_sample, to + t * s.out_channels + v * apart);
  }
}

// All of a filter of 3 x 3 taps of one channel: each pixel that a window sees is read once.
template <int Width, int PoolH>
LOCKSTEP_DEVICE void sum_3x3(const ConvolutionPoolingShape& s, std::int32_t first_sample, std::int32_t last_sample, std::int32_t channel,
                             const float* x, const float* dy, const std::uint8_t* winners, float* sums) {
  constexpr int kPixels = PoolH * kPoolWidth;
  for (std::int32_t n = first_sample; n < last_sample; ++n) {
    Lanes<Width> image[3][3];
    for (int r = 0; r < 3; ++r)
      for (int q = 0; q < 3; ++q) image[r][q] = fill_lanes<Width>(0.0F);
    for (std::int32_t oy = 0; oy < s.out_height; ++oy) {
      const std::int64_t line = static_cast<std::int64_t>(n) * s.out_height + oy;
      const float* in[PoolH + 2];
      for (int iy = 0; iy < PoolH + 2; ++iy) in[iy] = x + row_of_image(s, line) + static_cast<std::int64_t>(iy) * s.width;
      std::int64_t at = line * s.out_width * s.out_channels + channel;
      for (std::int32_t ox = 0; ox < s.out_width; ++ox, at += s.out_channels) {
        const Lanes<Width> gradient = load_lanes<Width>(dy + at);
        const LaneChoice<Width> choice = LaneChoice<Width>::load(winners + at);
        Lanes<Width> here[kPixels];
        for (int p = 0; p < kPixels; ++p) here[p] = where_chosen(choice, p, gradient);
        for (int iy = 0; iy < PoolH + 2; ++iy) {
          for (int ix = 0; ix < kPoolWidth + 2; ++ix) {
            const Lanes<Width> value = fill_lanes<Width>(in[iy][ox * kPoolWidth + ix]);
            for (int p = 0; p < kPixels; ++p) {
              const int r = iy - p / kPoolWidth, q = ix - p % kPoolWidth;
              if (r >= 0 && r < 3 && q >= 0 && q < 3) image[r][q] = fused(value, here[p], image[r][q]);
            }
          }
        }
      }
    }
    for (int r = 0; r < 3; ++r)
      for (int q = 0; q < 3; ++q) add_image(image[r][q], n == first_sample, sums + (r * 3 + q) * s.out_channels + channel);
  }
}

// All taps of a row of the filter, a few at a time; the last few may be summed twice, to the same numbers.
template <int Width, int PoolH, int Taps, int Vectors>
LOCKSTEP_DEVICE void sum_row(const ConvolutionPoolingShape& s, std::int32_t first_sample, std::int32_t last_sample, std::int32_t row,
                             std::int32_t channel, const float* x, const float* dy, const std::uint8_t* winners, float* sums) {
  const std::int32_t run = s.kernel_w * s.in_channels;
  for (std::int32_t tap = 0; tap < run; tap += Taps)
    sum_taps<Width, PoolH, Taps, Vectors>(s, first_sample, last_sample, row, tap + Taps <= run ? tap : run - Taps, channel, x, dy, winners,
                                          sums);
}

template <int Width>
LOCKSTEP_DEVICE void sum_bias(const ConvolutionPoolingShape& s, std::int32_t first_sample, std::int32_t last_sample, std::int32_t channel,
                              const float* dy, const std::uint8_t* winners, float* sums) {
  const std::int64_t windows = static_cast<std::int64_t>(s.out_height) * s.out_width;
  Lanes<Width> total = fill_lanes<Width>(0.0F);
  for (std::int32_t n = first_sample; n < last_sample; ++n) {
    Lanes<Width> image = fill_lanes<Width>(0.0F);
    for (std::int64_t window = 0; window < windows; ++window) {
      const std::int64_t at = (n * windows + window) * s.out_channels + channel;
      image = image + where_any(LaneChoice<Width>::load(winners + at), load_lanes<Width>(dy + at));
    }
    total = total + image;
  }
  store_lanes<Width>(sums + channel, total);
}

// The filter's gradient is cut by chunk of samples, row of the filter and vectors of channels; one part more of each chunk is the bias.
template <int Width, int PoolH, int Vectors>
LOCKSTEP_DEVICE void sum_gradients(const ConvolutionPoolingShape& s, View<const float> x, View<const float> dy,
                                   View<const std::uint8_t> winners, View<float> filter_sums, View<float> bias_sums) {
  const std::int32_t tiles = tiles_of<Width, Vectors>(s);
  const std::int32_t apart = apart_in<Width, Vectors>(s);
  const std::int32_t run = s.kernel_w * s.in_channels;
  const bool square = Vectors == 1 && is_3x3(s);
  const std::int32_t rows = square ? 1 : s.kernel_h;
  const std::int64_t taps = convolution_pooling_taps(s);
  const std::int64_t chunks = convolution_pooling_chunks(s);
  const auto samples = static_cast<std::int32_t>((s.batch + chunks - 1) / chunks);
  each_in_grid(chunks * (rows + 1) * tiles, [=](std::int64_t index) {
    const std::int32_t channel = first_of_tile<Width, Vectors>(static_cast<std::int32_t>(index % tiles));
    const auto row = static_cast<std::int32_t>(index / tiles % (rows + 1));
    const std::int64_t chunk = index / tiles / (rows + 1);
    const std::int32_t first = static_cast<std::int32_t>(chunk) * samples;
    const std::int32_t last = first + samples < s.batch ? first + samples : s.batch;
    float* sums = filter_sums.data + chunk * taps * s.out_channels;
    if (row == rows) {
      for (int v = 0; v < Vectors; ++v)
        sum_bias<Width>(s, first, last, channel + v * apart, dy.data, winners.data, bias_sums.data + chunk * s.out_channels);
    } else if (first >= last) {
      for (std::int64_t tap = square ? 0 : row * run; tap < (square ? taps : (row + 1) * run); ++tap)
        for (int v = 0; v < Vectors; ++v) store_lanes<Width>(sums + tap * s.out_channels + channel + v * apart, fill_lanes<Width>(0.0F));
    } else if (square) {
      sum_3x3<Width, PoolH>(s, first, last, channel, x.data, dy.data, winners.data, sums);
    } else if (run >= kManyTaps) {
      sum_row<Width, PoolH, kManyTaps, Vectors>(s, first, last, row, channel, x.data, dy.data, winners.data, sums);
    } else if (run >= 4) {
      sum_row<Width, PoolH, 4, Vectors>(s, first, last, row, channel, x.data, dy.data, winners.data, sums);
    } else {
      sum_row<Width, PoolH, 1, Vectors>(s, first, last, row, channel, x.data, dy.data, winners.data, sums);
    }
  });
}

// The widest vectors, and as many of them, as the channels come out even with.
template <int Width>
LOCKSTEP_DEVICE void convolve(const ConvolutionPoolingShape& s, bool relu, View<const float> x, View<const float> filter,
                              View<const float> bias, View<float> y, View<std::uint8_t> winners) {
  const bool two = s.out_channels % (2 * Width) == 0, four = s.out_channels % (4 * Width) == 0;
  if (s.pool_h == 2) {
    two ? make_strips<Width, 2, 2>(s, relu, x, filter, bias, y, winners) : make_strips<Width, 2, 1>(s, relu, x, filter, bias, y, winners);
  } else if (four) {
    make_strips<Width, 1, 4>(s, relu, x, filter, bias, y, winners);
  } else {
    two ? make_strips<Width, 1, 2>(s, relu, x, filter, bias, y, winners) : make_strips<Width, 1, 1>(s, relu, x, filter, bias, y, winners);
  }
}

template <int Width, int PoolH>
LOCKSTEP_DEVICE void sum_gradients(const ConvolutionPoolingShape& s, View<const float> x, View<const float> dy,
                                   View<const std::uint8_t> winners, View<float> filter_sums, View<float> bias_sums) {
  if (s.out_channels % (2 * Width) == 0 && !is_3x3(s)) {
    sum_gradients<Width, PoolH, 2>(s, x, dy, winners, filter_sums, bias_sums);
  } else {
    sum_gradients<Width, PoolH, 1>(s, x, dy, winners, filter_sums, bias_sums);
  }
}

template <int Width>
LOCKSTEP_DEVICE void undo_pooling(const ConvolutionPoolingShape& s, std::int32_t margin, View<const float> dy,
                                  View<const std::uint8_t> winners, View<float> dconvolution) {
  const std::int32_t height = s.height - s.kernel_h + 1, width = s.width - s.kernel_w + 1 + 2 * margin;
  const std::int32_t tiles = s.out_channels / Width;
  each_block(static_cast<std::int64_t>(s.batch) * height, [=](std::int64_t line) {
    const auto cy = static_cast<std::int32_t>(line % height);
    const std::int32_t oy = cy / s.pool_h;
    const std::int64_t windows = (line / height * s.out_height + oy) * s.out_width;
    each_thread(static_cast<std::int64_t>(width) * tiles, [=](std::int64_t index) {
      const std::int32_t cx = static_cast<std::int32_t>(index / tiles) - margin;
      const std::int32_t channel = static_cast<std::int32_t>(index % tiles) * Width;
      const std::int32_t ox = cx / kPoolWidth;
      Lanes<Width> value = fill_lanes<Width>(0.0F);
      if (oy < s.out_height && cx >= 0 && ox < s.out_width) {
        const std::int64_t at = (windows + ox) * s.out_channels + channel;
        value = where_chosen(LaneChoice<Width>::load(winners.data + at), cy % s.pool_h * kPoolWidth + cx % kPoolWidth,
                             load_lanes<Width>(dy.data + at));
      }
      store_lanes<Width>(dconvolution.data + (line * width + cx + margin) * s.out_channels + channel, value);
    });
  });
}

// f(LaneCount): a register's lanes where the channels come out even with them, else fewer. On a GPU the two are the same.
template <typename Function>
LOCKSTEP_DEVICE void with_lanes(const ConvolutionPoolingShape& s, const Function& f) {
  if constexpr (kRegisterLanes > kFewLanes)
    if (s.out_channels % kRegisterLanes == 0) return f(LaneCount<kRegisterLanes>{});
  f(LaneCount<kFewLanes>{});
}

}  // namespace

__global__ void convolution_pooling(ConvolutionPoolingShape s, bool relu, View<const float> x, View<const float> filter,
                                    View<const float> bias, View<float> y, View<std::uint8_t> winners) {
  with_lanes(s, [=](auto lanes) { convolve<decltype(lanes)::kValue>(s, relu, x, filter, bias, y, winners); });
}

__global__ void convolution_pooling_gradient(ConvolutionPoolingShape s, View<const float> x, View<const float> dy,
                                             View<const std::uint8_t> winners, View<float> filter_sums, View<float> bias_sums) {
  with_lanes(s, [=](auto lanes) {
    if (s.pool_h == 1) {
      sum_gradients<decltype(lanes)::kValue, 1>(s, x, dy, winners, filter_sums, bias_sums);
    } else {
      sum_gradients<decltype(lanes)::kValue, 2>(s, x, dy, winners, filter_sums, bias_sums);
    }
  });
}

__global__ void unpool(ConvolutionPoolingShape s, std::int32_t margin, View<const float> dy, View<const std::uint8_t> winners,
                       View<float> dconvolution) {
  with_lanes(s, [=](auto lanes) { undo_pooling<decltype(lanes)::kValue>(s, margin, dy, winners, dconvolution); });
}

}  // namespace lockstep::kernels
