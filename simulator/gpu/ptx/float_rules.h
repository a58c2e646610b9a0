// What PTX does to a float before and after an operation: subnormal numbers may count as zero, results may be clamped, and a result that is
// not a number has always the same bits.
#pragma once

#include <xmmintrin.h>

#include <bit>
#include <cstdint>
#include <limits>

#include "simulator/gpu/ptx/half.h"

namespace lockstep::ptx {

inline constexpr float kNan = std::bit_cast<float>(0x7fffffffU);

template <bool kFlush>
inline float flushed(float value) {
  if constexpr (!kFlush) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7f800000U) == 0 ? bits & 0x80000000U : bits);
}
inline float one_nan(float value) { return value == value ? value : kNan; }
inline float clamped_to_one(float value) { return value > 0 ? (value < 1 ? value : 1.0F) : 0.0F; }  // NaN gives 0 as well

template <bool kFlush, bool kClamp>
inline float finished(float value) {
  if constexpr (kClamp) return clamped_to_one(flushed<kFlush>(value));
  return flushed<kFlush>(one_nan(value));
}

// While it lives the host rounds like this. The compiler must not move arithmetic out of it: `pinned` holds a value in place.
class Rounding {
 public:
  explicit Rounding(Round round) : saved_(_mm_getcsr()) {
    const unsigned bits = round == Round::nearest ? 0U : round == Round::down ? 0x2000U : round == Round::up ? 0x4000U : 0x6000U;
    _mm_setcsr((saved_ & ~0x6000U) | bits);
  }
  ~Rounding() { _mm_setcsr(saved_); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;

 private:
  unsigned saved_;
};
template <typename T>
inline T pinned(T value) {
  asm volatile("" : "+x"(value));
  return value;
}

}  // namespace lockstep::ptx
