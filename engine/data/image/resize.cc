#include "engine/data/image/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep {
namespace {

// One output coordinate: the two inputs around it and how far it lies towards the second. In float, as TensorFlow computes it.
struct Between {
  std::size_t lower, upper;
  float share;
};

std::vector<Between> coordinates(int in, int out) {
  std::vector<Between> all(static_cast<std::size_t>(out));
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  for (int i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5F) * scale - 0.5F;
    const float floor = std::floor(at);
    const auto clamp = [in](float x) { return static_cast<std::size_t>(std::clamp(x, 0.0F, static_cast<float>(in - 1))); };
    all[static_cast<std::size_t>(i)] = {clamp(floor), clamp(std::ceil(at)), at - floor};
  }
  return all;
}

}  // namespace

void resize_bilinear(const Image& image, int height, int width, float* to) {
  const std::vector<Between> rows = coordinates(image.height, height);
  const std::vector<Between> columns = coordinates(image.width, width);
  const std::size_t row_bytes = static_cast<std::size_t>(image.width) * 3;
  for (const Between& y : rows) {
    const std::uint8_t* upper = image.pixels.data() + y.lower * row_bytes;
    const std::uint8_t* lower = image.pixels.data() + y.upper * row_bytes;
    for (const Between& x : columns) {
      for (std::size_t c = 0; c < 3; ++c) {
        const auto at = [c](const std::uint8_t* row, std::size_t column) { return static_cast<float>(row[3 * column + c]); };
        const float top = at(upper, x.lower) + (at(upper, x.upper) - at(upper, x.lower)) * x.share;
        const float bottom = at(lower, x.lower) + (at(lower, x.upper) - at(lower, x.lower)) * x.share;
        *to++ = top + (bottom - top) * y.share;
      }
    }
  }
}

}  // namespace lockstep
