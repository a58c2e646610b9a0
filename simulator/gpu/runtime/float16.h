// The two 16-bit floating-point types as a GPU stores them, converted to and from float by rounding to nearest even.
//
// Arithmetic is done in float and rounded afterwards. For one operation that equals native 16-bit arithmetic: float has
// p = 24 >= 2 * 11 + 2 bits, so rounding twice is rounding once (Figueroa, "When is double rounding innocuous?", 1995).
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep::sim {

struct Float16 {
  std::uint16_t bits = 0;

  static Float16 from(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 16) & 0x8000u;
    std::uint32_t magnitude = word & 0x7fffffffu;
    if (magnitude >= 0x47800000u) {  // 65536 and above, infinity, NaN
      const std::uint32_t nan = magnitude > 0x7f800000u ? 0x200u : 0u;
      return {static_cast<std::uint16_t>(sign | 0x7c00u | nan)};
    }
    if (magnitude < 0x38800000u) {  // subnormal: adding 0.5 makes the float unit shift and round
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
    }
    magnitude += 0xfffu + ((magnitude >> 13) & 1u);  // to nearest, ties to even; a carry goes into the exponent
    return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u) >> 13))};
  }

  explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    // Read as a float its exponent is 112 too small: the product puts it right, subnormals included.
    const float scaled = std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(0x77800000u);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
  }
};

struct Bfloat16 {
  std::uint16_t bits = 0;

  static Bfloat16 from(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((word >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16)};
  }

  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace lockstep::sim
