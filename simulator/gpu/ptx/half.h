// Numbers of 16 bits, as values and in pairs. Arithmetic on them is done in float and rounded once, to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace lockstep::ptx {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};
template <typename T>
struct Pair {
  T low, high;
};

inline constexpr std::uint16_t kHalfNan = 0x7fff;  // for both

inline float widen(Bfloat value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

// A half's exponent is put where a float's is; numbers below the smallest normal one are made by a subtraction that is exact.
inline float widen(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t rest = value.bits & 0x7fffU;
  const float tiny = static_cast<float>(rest) * 0x1p-24F;
  const std::uint32_t normal = (rest << 13) + (112U << 23);
  const std::uint32_t large = (rest << 13) + (224U << 23);
  const std::uint32_t bits = rest < 0x400U ? std::bit_cast<std::uint32_t>(tiny) : rest < 0x7c00U ? normal : large;
  return std::bit_cast<float>(bits | sign);
}

enum class Round : std::uint8_t { nearest, zero, down, up };

// Takes `drop` bits off a magnitude, and says by how much to round.
template <typename Bits>
inline Bits rounded_off(Bits magnitude, int drop, bool negative, Round round) {
  const Bits kept = magnitude >> drop;
  const Bits rest = magnitude & ((Bits{1} << drop) - 1);
  const Bits half = Bits{1} << (drop - 1);
  bool up = false;
  if (round == Round::nearest) up = rest > half || (rest == half && (kept & 1U) != 0);
  if (round == Round::down) up = negative && rest != 0;
  if (round == Round::up) up = !negative && rest != 0;
  return kept + (up ? 1 : 0);
}

inline Bfloat to_bfloat(float value, Round round = Round::nearest) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {kHalfNan};
  const std::uint32_t rounded = rounded_off(bits & 0x7fffffffU, 16, bits >> 31 != 0, round);
  return {static_cast<std::uint16_t>(rounded | (bits >> 16 & 0x8000U))};
}

inline Half to_half(float value, Round round = Round::nearest) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const bool negative = sign != 0;
  if (magnitude > 0x7f800000U) return {kHalfNan};
  if (magnitude == 0x7f800000U) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent > 15) {  // past the largest half
    const bool largest = round == Round::zero || (round == Round::down && !negative) || (round == Round::up && negative);
    return {static_cast<std::uint16_t>(sign | (largest ? 0x7bffU : 0x7c00U))};
  }
  if (exponent >= -14) {
    const std::uint32_t rebased = magnitude - (112U << 23);
    return {static_cast<std::uint16_t>(sign | rounded_off(rebased, 13, negative, round))};
  }
  const std::uint64_t whole = magnitude >> 23 == 0 ? magnitude & 0x7fffffU : (magnitude & 0x7fffffU) | 0x800000U;
  const int drop = exponent < -40 ? 40 : -1 - exponent;  // units of 2^-24
  return {static_cast<std::uint16_t>(sign | rounded_off(whole, drop, negative, round))};
}

}  // namespace lockstep::ptx
