// Digits this program draws itself, for machines with neither MNIST nor a network: 28x28 grey images of handwritten look, ink inside the
// middle 20x20 pixels and centred by mass, as in MNIST.
#pragma once

#include <cstdint>

#include "lockstep/array.h"

namespace lockstep {

struct DrawnDigits {
  Array images;  // (count, 28, 28, 1), each value k / 255
  Array labels;  // (count,)
};

// The same digits on every machine for the same seed; image i does not depend on `count`.
DrawnDigits draw_digits(std::int64_t count, std::uint64_t seed);

}  // namespace lockstep
