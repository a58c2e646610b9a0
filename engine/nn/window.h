// Windows that slide over an image: padding and extents, the same for convolution and pooling.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

enum class Padding { valid, same };

inline Padding parse_padding(const std::string& name) {
  if (name == "valid") return Padding::valid;
  if (name == "same") return Padding::same;
  throw Error("There is no padding \"" + name + "\"; there are: valid, same");
}

// One axis: where windows of `window` elements (dilation counted in) stand `stride` apart.
struct WindowAxis {
  std::int64_t before = 0, after = 0;  // zeros added on each side
  std::int64_t out = 0;                // windows; not positive where none fits
};

// "valid": only windows wholly inside. "same": ceil(in / stride) windows, and of the zeros needed for them the smaller half
// before the image, as TensorFlow does.
inline WindowAxis slide(std::int64_t in, std::int64_t window, std::int64_t stride, Padding padding) {
  if (padding == Padding::valid) return {0, 0, in < window ? 0 : (in - window) / stride + 1};
  const std::int64_t out = (in + stride - 1) / stride;
  const std::int64_t zeros = (out - 1) * stride + window - in;
  if (zeros <= 0) return {0, 0, out};
  return {zeros / 2, zeros - zeros / 2, out};
}

}  // namespace lockstep
