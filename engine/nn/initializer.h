// How a variable gets its first values: on the host, from (seed, variable's index) alone, so every run starts with the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

struct Initializer {
  enum class Kind { zeros, ones, constant, glorot_uniform, glorot_normal, he_uniform, he_normal, random_uniform, random_normal };
  Kind kind = Kind::zeros;
  float value = 0;  // constant; half width of random_uniform; standard deviation of random_normal

  // Philox 4x32-10 keyed by (seed, stream); Keras' fan-in and fan-out rules for glorot and he.
  std::vector<float> values(const Shape& shape, std::uint64_t seed, std::uint64_t stream) const;
};

Initializer parse_initializer(const std::string& name);  // Keras' names; an unknown one is an Error that lists the known ones

// Inputs that meet in one output and outputs that one input reaches, as Keras counts them for a kernel of this shape.
struct Fans {
  double in = 1, out = 1;
};
Fans compute_fans(const Shape& shape);

}  // namespace lockstep
