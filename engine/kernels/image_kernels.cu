// Images, NHWC, moved or averaged.
#include "engine/kernels/image_kernels.h"

#include <backend/kernel_support.h>

namespace lockstep::kernels {

namespace {

struct Pixel {
  std::int32_t n, y, x;
};

LOCKSTEP_HOST_DEVICE inline Pixel pixel_at(std::int64_t index, std::int32_t height, std::int32_t width) {
  const auto row = static_cast<std::int32_t>(index / width);
  return {row / height, row % height, static_cast<std::int32_t>(index - static_cast<std::int64_t>(row) * width)};
}

LOCKSTEP_HOST_DEVICE inline std::int64_t index_of(const Pixel& at, std::int32_t height, std::int32_t width) {
  return (static_cast<std::int64_t>(at.n) * height + at.y) * width + at.x;
}

LOCKSTEP_HOST_DEVICE inline std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
LOCKSTEP_HOST_DEVICE inline std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

// The part of a pool's window that lies inside the image.
struct Window {
  std::int32_t top, bottom, left, right;
};
LOCKSTEP_HOST_DEVICE inline Window window_at(const PoolShape& s, std::int32_t oy, std::int32_t ox) {
  const std::int32_t top = oy * s.stride_h - s.pad_top;
  const std::int32_t left = ox * s.stride_w - s.pad_left;
  return {larger(top, 0), smaller(top + s.pool_h, s.height), larger(left, 0), smaller(left + s.pool_w, s.width)};
}
LOCKSTEP_HOST_DEVICE inline float pixels_of(const Window& w) { return static_cast<float>((w.bottom - w.top) * (w.right - w.left)); }

}  // namespace

__global__ void zero_padding(PaddingShape s, View<const float> x, View<float> y) {
  const std::int32_t height = s.height + s.top + s.bottom;
  const std::int32_t width = s.width + s.left + s.right;
  each_block(static_cast<std::int64_t>(s.batch) * height * width, [=](std::int64_t index) {
    const Pixel out = pixel_at(index, height, width);
    const Pixel in{out.n, out.y - s.top, out.x - s.left};
    float* to = y.data + index * s.channels;
    if (in.y < 0 || in.y >= s.height || in.x < 0 || in.x >= s.width) {
      each_thread(s.channels, [=](std::int64_t c) { to[c] = 0; });
    } else {
      const float* from = x.data + index_of(in, s.height, s.width) * s.channels;
      each_thread(s.channels, [=](std::int64_t c) { to[c] = from[c]; });
    }
  });
}

__global__ void zero_padding_gradient(PaddingShape s, View<const float> dy, View<float> dx) {
  const std::int32_t height = s.height + s.top + s.bottom;
  const std::int32_t width = s.width + s.left + s.right;
  each_block(static_cast<std::int64_t>(s.batch) * s.height * s.width, [=](std::int64_t index) {
    const Pixel in = pixel_at(index, s.height, s.width);
    const float* from = dy.data + index_of({in.n, in.y + s.top, in.x + s.left}, height, width) * s.channels;
    float* to = dx.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { to[c] = from[c]; });
  });
}

__global__ void global_average_pooling(View<const float> x, View<float> y, std::int64_t batch, std::int64_t pixels, std::int64_t channels) {
  const auto n = static_cast<float>(pixels);
  each_block(batch, [=](std::int64_t sample) {
    float* mean = y.data + sample * channels;
    each_thread(channels, [=](std::int64_t c) { mean[c] = 0; });
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float* v = x.data + (sample * pixels + p) * channels;
      each_thread(channels, [=](std::int64_t c) { mean[c] += v[c]; });
    }
    each_thread(channels, [=](std::int64_t c) { mean[c] /= n; });
  });
}

__global__ void global_average_pooling_gradient(View<const float> dy, View<float> dx, std::int64_t batch, std::int64_t pixels,
                                                std::int64_t channels) {
  const auto n = static_cast<float>(pixels);
  each_block(batch * pixels, [=](std::int64_t row) {
    const float* d = dy.data + row / pixels * channels;
    float* to = dx.data + row * channels;
    each_thread(channels, [=](std::int64_t c) { to[c] = d[c] / n; });
  });
}

__global__ void average_pooling(PoolShape s, View<const float> x, View<float> y) {
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width, [=](std::int64_t index) {
    const Pixel out = pixel_at(index, s.out_height, s.out_width);
    const Window window = window_at(s, out.y, out.x);
    const float n = pixels_of(window);
    float* mean = y.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { mean[c] = 0; });
    for (std::int32_t iy = window.top; iy < window.bottom; ++iy) {
      for (std::int32_t ix = window.left; ix < window.right; ++ix) {
        const float* v = x.data + index_of({out.n, iy, ix}, s.height, s.width) * s.channels;
        each_thread(s.channels, [=](std::int64_t c) { mean[c] += v[c]; });
      }
    }
    each_thread(s.channels, [=](std::int64_t c) { mean[c] /= n; });
  });
}

__global__ void average_pooling_gradient(PoolShape s, View<const float> dy, View<float> dx) {
  each_block(static_cast<std::int64_t>(s.batch) * s.height * s.width, [=](std::int64_t index) {
    const Pixel in = pixel_at(index, s.height, s.width);
    // Windows that contain this pixel: oy * stride - pad <= iy < oy * stride - pad + pool.
    const std::int32_t py = in.y + s.pad_top;
    const std::int32_t px = in.x + s.pad_left;
    const std::int32_t oy0 = py < s.pool_h ? 0 : (py - s.pool_h) / s.stride_h + 1;
    const std::int32_t ox0 = px < s.pool_w ? 0 : (px - s.pool_w) / s.stride_w + 1;
    const std::int32_t oy1 = smaller(py / s.stride_h + 1, s.out_height);
    const std::int32_t ox1 = smaller(px / s.stride_w + 1, s.out_width);
    float* d = dx.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { d[c] = 0; });
    for (std::int32_t oy = oy0; oy < oy1; ++oy) {
      for (std::int32_t ox = ox0; ox < ox1; ++ox) {
        const float n = pixels_of(window_at(s, oy, ox));
        const float* from = dy.data + index_of({in.n, oy, ox}, s.out_height, s.out_width) * s.channels;
        each_thread(s.channels, [=](std::int64_t c) { d[c] += from[c] / n; });
      }
    }
  });
}

__global__ void random_flip(RandomKey key, View<const float> x, View<float> y, std::int32_t height, std::int32_t width,
                            std::int32_t channels, bool horizontal, bool vertical) {
  const std::int64_t row = static_cast<std::int64_t>(width) * channels;
  each_block(row > 0 ? x.count / row : 0, [=](std::int64_t index) {
    const std::int64_t sample = index / height;
    const auto at = static_cast<std::int32_t>(index % height);
    const PhiloxCounter draw = random_words(key, sample, 0);
    const bool left_right = horizontal && philox_uniform(draw.x) < 0.5F;
    const bool up_down = vertical && philox_uniform(draw.y) < 0.5F;
    const float* from = x.data + (sample * height + (up_down ? height - 1 - at : at)) * row;
    float* to = y.data + index * row;
    if (left_right) {
      each_thread(row, [=](std::int64_t i) { to[i] = from[(width - 1 - i / channels) * channels + i % channels]; });
    } else {
      each_thread(row, [=](std::int64_t i) { to[i] = from[i]; });
    }
  });
}

}  // namespace lockstep::kernels
