// Max and average pooling over windows of an NHWC image, forward and gradient.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/pixel.h"
#include "engine/kernels/pooling_kernels.h"

namespace lockstep::kernels {

namespace {

LOCKSTEP_HOST_DEVICE inline std::int32_t larger(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
LOCKSTEP_HOST_DEVICE inline std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

// The larger of two where a NaN, once met, stays.
LOCKSTEP_HOST_DEVICE inline float max_or_nan(float m, float v) { return v > m || v != v ? v : m; }

// Is v the maximum m of its window? m is NaN only if some element is.
LOCKSTEP_HOST_DEVICE inline bool is_maximum(float v, float m) { return v == m || v != v; }

// The part of a window that lies inside the image.
struct Window {
  std::int32_t top, bottom, left, right;
};
LOCKSTEP_HOST_DEVICE inline Window window_at(const PoolShape& s, std::int32_t oy, std::int32_t ox) {
  const std::int32_t top = oy * s.stride_h - s.pad_top;
  const std::int32_t left = ox * s.stride_w - s.pad_left;
  return {larger(top, 0), smaller(top + s.pool_h, s.height), larger(left, 0), smaller(left + s.pool_w, s.width)};
}
LOCKSTEP_HOST_DEVICE inline float pixels_of(const Window& w) { return static_cast<float>((w.bottom - w.top) * (w.right - w.left)); }

// The windows that contain a pixel: oy * stride - pad <= iy < oy * stride - pad + pool.
LOCKSTEP_HOST_DEVICE inline Window windows_with(const PoolShape& s, const Pixel& in) {
  const std::int32_t py = in.y + s.pad_top;
  const std::int32_t px = in.x + s.pad_left;
  return {py < s.pool_h ? 0 : (py - s.pool_h) / s.stride_h + 1, smaller(py / s.stride_h + 1, s.out_height),
          px < s.pool_w ? 0 : (px - s.pool_w) / s.stride_w + 1, smaller(px / s.stride_w + 1, s.out_width)};
}

// Calls f with each element of the window that comes before pixel `in`, in row-major order.
template <typename Function>
LOCKSTEP_HOST_DEVICE inline void each_before(const Window& window, const Pixel& in, const float* image, std::int64_t width,
                                             std::int64_t channels, Function f) {
  for (std::int32_t y = window.top; y <= in.y; ++y) {
    const std::int32_t end = y == in.y ? in.x : window.right;
    for (std::int32_t x = window.left; x < end; ++x) f(image + (y * width + x) * channels);
  }
}

}  // namespace

__global__ void max_pooling(PoolShape s, View<const float> x, View<float> y) {
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width, [=](std::int64_t index) {
    const Pixel out = pixel_at(index, s.out_height, s.out_width);
    const Window window = window_at(s, out.y, out.x);
    float* m = y.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { m[c] = -INFINITY; });
    for (std::int32_t iy = window.top; iy < window.bottom; ++iy) {
      for (std::int32_t ix = window.left; ix < window.right; ++ix) {
        const float* v = x.data + index_of({out.n, iy, ix}, s.height, s.width) * s.channels;
        each_thread(s.channels, [=](std::int64_t c) { m[c] = max_or_nan(m[c], v[c]); });
      }
    }
  });
}

__global__ void max_pooling_gradient(PoolShape s, View<const float> x, View<const float> y, View<const float> dy, View<float> dx) {
  each_block(static_cast<std::int64_t>(s.batch) * s.height * s.width, [=](std::int64_t index) {
    const Pixel in = pixel_at(index, s.height, s.width);
    const float* image = x.data + static_cast<std::int64_t>(in.n) * s.height * s.width * s.channels;
    const float* v = x.data + index * s.channels;
    float* d = dx.data + index * s.channels;
    const Window windows = windows_with(s, in);
    if (windows.bottom - windows.top == 1 && windows.right - windows.left == 1) {
      // One window: d itself holds what is left of its gradient, and every pass over the channels is a simple one.
      const Window window = window_at(s, windows.top, windows.left);
      const std::int64_t at = index_of({in.n, windows.top, windows.left}, s.out_height, s.out_width) * s.channels;
      const float* m = y.data + at;
      const float* g = dy.data + at;
      each_thread(s.channels, [=](std::int64_t c) { d[c] = is_maximum(v[c], m[c]) ? g[c] : 0.0F; });
      each_before(window, in, image, s.width, s.channels, [=](const float* earlier) {
        each_thread(s.channels, [=](std::int64_t c) { d[c] = is_maximum(earlier[c], m[c]) ? 0.0F : d[c]; });
      });
      return;
    }
    each_thread(s.channels, [=](std::int64_t c) {
      float sum = 0;
      for (std::int32_t oy = windows.top; oy < windows.bottom; ++oy) {
        for (std::int32_t ox = windows.left; ox < windows.right; ++ox) {
          const std::int64_t at = index_of({in.n, oy, ox}, s.out_height, s.out_width) * s.channels + c;
          bool first = is_maximum(v[c], y[at]);
          if (first) {
            each_before(window_at(s, oy, ox), in, image, s.width, s.channels,
                        [&first, c, m = y[at]](const float* earlier) { first = first && !is_maximum(earlier[c], m); });
          }
          sum += first ? dy[at] : 0.0F;
        }
      }
      d[c] = sum;
    });
  });
}

__global__ void max_pooling_2x2(PoolShape s, View<const float> x, View<float> y) {
  each_block(static_cast<std::int64_t>(s.batch) * s.out_height * s.out_width, [=](std::int64_t index) {
    const Pixel out = pixel_at(index, s.out_height, s.out_width);
    const float* v00 = x.data + index_of({out.n, 2 * out.y, 2 * out.x}, s.height, s.width) * s.channels;
    const float* v01 = v00 + s.channels;
    const float* v10 = v00 + static_cast<std::int64_t>(s.width) * s.channels;
    const float* v11 = v10 + s.channels;
    float* m = y.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { m[c] = max_or_nan(max_or_nan(max_or_nan(v00[c], v01[c]), v10[c]), v11[c]); });
  });
}

// The input is cut into tiles of 2x2, the last ones of odd extents into smaller: a whole tile is a window, the rest belongs to none.
__global__ void max_pooling_gradient_2x2(PoolShape s, View<const float> x, View<const float> y, View<const float> dy, View<float> dx) {
  const std::int32_t tiles_h = (s.height + 1) / 2;
  const std::int32_t tiles_w = (s.width + 1) / 2;
  each_block(static_cast<std::int64_t>(s.batch) * tiles_h * tiles_w, [=](std::int64_t index) {
    const Pixel tile = pixel_at(index, tiles_h, tiles_w);
    const std::int64_t below = static_cast<std::int64_t>(s.width) * s.channels;
    const std::int64_t corner = index_of({tile.n, 2 * tile.y, 2 * tile.x}, s.height, s.width) * s.channels;
    float* d00 = dx.data + corner;
    if (tile.y < s.out_height && tile.x < s.out_width) {
      const std::int64_t window = index_of(tile, s.out_height, s.out_width) * s.channels;
      const float* m = y.data + window;
      const float* g = dy.data + window;
      const float* v00 = x.data + corner;
      const float* v01 = v00 + s.channels;
      const float* v10 = v00 + below;
      float* d01 = d00 + s.channels;
      float* d10 = d00 + below;
      float* d11 = d10 + s.channels;
      each_thread(s.channels, [=](std::int64_t c) {
        // Selects instead of branches, so that lanes stay together: what is left of g goes on to the next element.
        const float at00 = is_maximum(v00[c], m[c]) ? g[c] : 0.0F;
        const float left01 = is_maximum(v00[c], m[c]) ? 0.0F : g[c];
        const float at01 = is_maximum(v01[c], m[c]) ? left01 : 0.0F;
        const float left10 = is_maximum(v01[c], m[c]) ? 0.0F : left01;
        const float at10 = is_maximum(v10[c], m[c]) ? left10 : 0.0F;
        const float left11 = is_maximum(v10[c], m[c]) ? 0.0F : left10;
        d00[c] = at00;
        d01[c] = at01;
        d10[c] = at10;
        d11[c] = left11;
      });
    } else {
      const std::int64_t right = 2 * tile.x + 1 < s.width ? 2 : 1;
      const std::int64_t rows = 2 * tile.y + 1 < s.height ? 2 : 1;
      for (std::int64_t row = 0; row < rows; ++row) {
        float* d = d00 + row * below;
        each_thread(right * s.channels, [=](std::int64_t i) { d[i] = 0; });
      }
    }
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
    const Window windows = windows_with(s, in);
    float* d = dx.data + index * s.channels;
    each_thread(s.channels, [=](std::int64_t c) { d[c] = 0; });
    for (std::int32_t oy = windows.top; oy < windows.bottom; ++oy) {
      for (std::int32_t ox = windows.left; ox < windows.right; ++ox) {
        const float n = pixels_of(window_at(s, oy, ox));
        const float* from = dy.data + index_of({in.n, oy, ox}, s.out_height, s.out_width) * s.channels;
        each_thread(s.channels, [=](std::int64_t c) { d[c] += from[c] / n; });
      }
    }
  });
}

}  // namespace lockstep::kernels
