// From a double to fewer bits, rounded once.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "simulator/gpu/ptx/half.h"

namespace lockstep::ptx {

// a + b with what does not fit kept as an odd last bit, so that rounding the result once more is as good as rounding the exact sum.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (error == 0 || (bits & 1U) != 0) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// A double as a float that keeps what is lost as an odd last bit.
inline float to_odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) && std::isfinite(value)) return std::copysign(std::numeric_limits<float>::max(), static_cast<float>(value));
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1U) != 0) return nearest;
  // Towards the exact value: up in magnitude where it is larger, else down to the odd neighbour.
  return std::bit_cast<float>(std::fabs(value) > std::fabs(static_cast<double>(nearest)) ? bits + 1 : bits - 1);
}

template <typename T>
inline T narrowed(double value, Round round = Round::nearest) {
  const float between = to_odd_float(value);
  if constexpr (std::is_same_v<T, Half>)
    return to_half(between, round);
  else
    return to_bfloat(between, round);
}

}  // namespace lockstep::ptx
