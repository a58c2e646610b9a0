// One element at a time.
#include "engine/kernels/pointwise_kernels.h"

#include <backend/kernel_support.h>

namespace lockstep::kernels {

__global__ void sum_of_two(View<const float> x, View<const float> y, View<float> z) {
  each_in_grid(z.count, [=](std::int64_t i) { z[i] = x[i] + y[i]; });
}

__global__ void clip(View<const float> x, View<float> y, float low, float high) {
  each_in_grid(y.count, [=](std::int64_t i) {
    // Comparisons this way round leave a NaN a NaN.
    const float v = low > x[i] ? low : x[i];
    y[i] = high < v ? high : v;
  });
}

__global__ void clip_gradient(View<const float> y, View<float> dy, float low, float high) {
  each_in_grid(dy.count, [=](std::int64_t i) { dy[i] = y[i] > low && y[i] < high ? dy[i] : 0.0F; });
}

__global__ void scale_and_shift(View<const float> x, View<float> y, float factor, float offset) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = x[i] * factor + offset; });
}

__global__ void dropout(RandomKey key, View<const float> x, View<float> y, std::int64_t elements, float rate) {
  const std::int64_t groups = (elements + 3) / 4;
  const float kept = 1.0F / (1.0F - rate);
  each_in_grid(elements > 0 ? y.count / elements * groups : 0, [=](std::int64_t g) {
    const std::int64_t sample = g / groups;
    const std::int64_t group = g % groups;
    const PhiloxCounter draw = random_words(key, sample, group);
    const std::uint32_t words[4] = {draw.x, draw.y, draw.z, draw.w};
    const std::int64_t first = sample * elements + 4 * group;
    for (std::int64_t j = 0; j < 4 && 4 * group + j < elements; ++j)
      y[first + j] = philox_uniform(words[j]) >= rate ? x[first + j] * kept : 0.0F;
  });
}

}  // namespace lockstep::kernels
