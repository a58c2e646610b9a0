// Images, NHWC, moved or averaged.
#include "engine/kernels/image_kernels.h"

#include <backend/kernel_support.h>
#include "engine/kernels/pixel.h"

namespace lockstep::kernels {

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
