// 16-bit floating-point numbers in tests: which numbers there are, by arithmetic in double, and arrays of them.
#pragma once

#include "simulator/gpu/runtime/float16.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace lockstep::test {

enum class Narrow { f32, f16, bf16 };

// Half the distance between neighbours at this value: the most that one rounding moves it.
inline double half_step(double value, Narrow type) {
  const int lowest = type == Narrow::f16 ? -14 : -126, digits = type == Narrow::f32 ? 23 : type == Narrow::f16 ? 10 : 7;
  const int exponent = value == 0 ? lowest : std::max(std::ilogb(value), lowest);
  return std::ldexp(0.5, exponent - digits);
}

// To nearest, ties to even.
inline float rounded(double value, Narrow type) {
  if (type == Narrow::f32) return static_cast<float>(value);
  if (type == Narrow::f16 && std::abs(value) >= 65520.0)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value));
  const double step = 2 * half_step(value, type);
  return static_cast<float>(std::nearbyint(value / step) * step);
}

// Values that the type has, as its bytes; the array that holds them is counted in floats.
inline std::vector<float> packed(const std::vector<float>& values, Narrow type) {
  if (type == Narrow::f32) return values;
  std::vector<float> bytes((values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = type == Narrow::f16 ? sim::Float16::from(values[i]).bits : sim::Bfloat16::from(values[i]).bits;
    std::memcpy(reinterpret_cast<char*>(bytes.data()) + 2 * i, &bits, sizeof bits);
  }
  return bytes;
}

inline std::vector<float> unpacked(const std::vector<float>& bytes, std::size_t count, Narrow type) {
  if (type == Narrow::f32) return bytes;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const char*>(bytes.data()) + 2 * i, sizeof bits);
    values[i] = type == Narrow::f16 ? static_cast<float>(sim::Float16{bits}) : static_cast<float>(sim::Bfloat16{bits});
  }
  return values;
}

}  // namespace lockstep::test
