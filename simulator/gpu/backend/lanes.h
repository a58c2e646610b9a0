// A few floats that a thread works on at once: neighbouring channels, mostly. On a CPU they are a vector register, on a GPU one wide load.
//
// What is done to a lane does not depend on the others, so the width never shows in the bits. The CUDA twin has the same names.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

#include <backend/context.h>
#include <backend/host_device.h>
#include <backend/tuning.h>

// In front of a loop over a small constant range: what it indexes can then live in registers.
#define LOCKSTEP_UNROLL _Pragma("GCC unroll 16")
// Unrolling this one would need more registers than there are.
#define LOCKSTEP_NO_UNROLL _Pragma("GCC unroll 1")

namespace lockstep {

using tuning::kFewLanes;
using tuning::kLanes;
using tuning::kRegisterLanes;
using tuning::kRegisters;

template <int Width>
struct Lanes {
  float v[Width];
};

template <int Width>
inline Lanes<Width> load_lanes(const float* from) {
  Lanes<Width> a;
  for (int i = 0; i < Width; ++i) a.v[i] = from[i];
  return a;
}
template <int Width>
inline Lanes<Width> fill_lanes(float value) {
  Lanes<Width> a;
  for (int i = 0; i < Width; ++i) a.v[i] = value;
  return a;
}
template <int Width>
inline void store_lanes(float* to, const Lanes<Width>& a) {
  for (int i = 0; i < Width; ++i) to[i] = a.v[i];
}
template <int Width>
inline Lanes<Width> operator+(Lanes<Width> a, const Lanes<Width>& b) {
  for (int i = 0; i < Width; ++i) a.v[i] += b.v[i];
  return a;
}
template <int Width>
inline Lanes<Width> operator-(Lanes<Width> a, const Lanes<Width>& b) {
  for (int i = 0; i < Width; ++i) a.v[i] -= b.v[i];
  return a;
}
template <int Width>
inline Lanes<Width> operator*(Lanes<Width> a, const Lanes<Width>& b) {
  for (int i = 0; i < Width; ++i) a.v[i] *= b.v[i];
  return a;
}
template <int Width>
inline Lanes<Width> operator/(Lanes<Width> a, const Lanes<Width>& b) {
  for (int i = 0; i < Width; ++i) a.v[i] /= b.v[i];
  return a;
}
// a * b + c, rounded once
template <int Width>
inline Lanes<Width> fused(const Lanes<Width>& a, const Lanes<Width>& b, Lanes<Width> c) {
  for (int i = 0; i < Width; ++i) c.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
  return c;
}
// a held between low and high; a NaN stays one
template <int Width>
inline Lanes<Width> clipped(Lanes<Width> a, const Lanes<Width>& low, const Lanes<Width>& high) {
  for (int i = 0; i < Width; ++i) {
    const float z = low.v[i] > a.v[i] ? low.v[i] : a.v[i];
    a.v[i] = high.v[i] < z ? high.v[i] : z;
  }
  return a;
}
// b where a is strictly between low and high, else 0
template <int Width>
inline Lanes<Width> where_between(const Lanes<Width>& a, const Lanes<Width>& low, const Lanes<Width>& high, Lanes<Width> b) {
  for (int i = 0; i < Width; ++i) b.v[i] = a.v[i] > low.v[i] && a.v[i] < high.v[i] ? b.v[i] : 0.0F;
  return b;
}

// Lanes that are one vector register, with the instructions that begin with `mm`. Where an operand is NaN, minimum and maximum give the
// second.
#define LOCKSTEP_LANES_IN_A_REGISTER(Width, Register, mm)                                                              \
  template <>                                                                                                          \
  struct Lanes<Width> {                                                                                                \
    Register v;                                                                                                        \
  };                                                                                                                   \
  template <>                                                                                                          \
  inline Lanes<Width> load_lanes<Width>(const float* from) {                                                           \
    return {mm##_loadu_ps(from)};                                                                                      \
  }                                                                                                                    \
  template <>                                                                                                          \
  inline Lanes<Width> fill_lanes<Width>(float value) {                                                                 \
    return {mm##_set1_ps(value)};                                                                                      \
  }                                                                                                                    \
  template <>                                                                                                          \
  inline void store_lanes<Width>(float* to, const Lanes<Width>& a) {                                                   \
    mm##_storeu_ps(to, a.v);                                                                                           \
  }                                                                                                                    \
  inline Lanes<Width> operator+(Lanes<Width> a, Lanes<Width> b) { return {mm##_add_ps(a.v, b.v)}; }                    \
  inline Lanes<Width> operator-(Lanes<Width> a, Lanes<Width> b) { return {mm##_sub_ps(a.v, b.v)}; }                    \
  inline Lanes<Width> operator*(Lanes<Width> a, Lanes<Width> b) { return {mm##_mul_ps(a.v, b.v)}; }                    \
  inline Lanes<Width> operator/(Lanes<Width> a, Lanes<Width> b) { return {mm##_div_ps(a.v, b.v)}; }                    \
  inline Lanes<Width> fused(Lanes<Width> a, Lanes<Width> b, Lanes<Width> c) { return {mm##_fmadd_ps(a.v, b.v, c.v)}; } \
  inline Lanes<Width> clipped(Lanes<Width> a, Lanes<Width> low, Lanes<Width> high) {                                   \
    return {mm##_min_ps(high.v, mm##_max_ps(low.v, a.v))};                                                             \
  }

#if defined(__AVX2__) && defined(__FMA__)

LOCKSTEP_LANES_IN_A_REGISTER(8, __m256, _mm256)
inline Lanes<8> where_between(Lanes<8> a, Lanes<8> low, Lanes<8> high, Lanes<8> b) {
  const __m256 inside = _mm256_and_ps(_mm256_cmp_ps(a.v, low.v, _CMP_GT_OQ), _mm256_cmp_ps(a.v, high.v, _CMP_LT_OQ));
  return {_mm256_and_ps(inside, b.v)};
}

#endif

#if defined(__AVX512F__)

// Half the instructions, and 32 registers in place of 16.
LOCKSTEP_LANES_IN_A_REGISTER(16, __m512, _mm512)
inline Lanes<16> where_between(Lanes<16> a, Lanes<16> low, Lanes<16> high, Lanes<16> b) {
  const __mmask16 above = _mm512_cmp_ps_mask(a.v, low.v, _CMP_GT_OQ);
  return {_mm512_maskz_mov_ps(_mm512_mask_cmp_ps_mask(above, a.v, high.v, _CMP_LT_OQ), b.v)};
}

#elif defined(__AVX2__) && defined(__FMA__)

// Two registers.
template <>
struct Lanes<16> {
  Lanes<8> a, b;
};
template <>
inline Lanes<16> load_lanes<16>(const float* from) {
  return {load_lanes<8>(from), load_lanes<8>(from + 8)};
}
template <>
inline Lanes<16> fill_lanes<16>(float value) {
  return {fill_lanes<8>(value), fill_lanes<8>(value)};
}
template <>
inline void store_lanes<16>(float* to, const Lanes<16>& a) {
  store_lanes<8>(to, a.a);
  store_lanes<8>(to + 8, a.b);
}
inline Lanes<16> operator+(const Lanes<16>& x, const Lanes<16>& y) { return {x.a + y.a, x.b + y.b}; }
inline Lanes<16> operator-(const Lanes<16>& x, const Lanes<16>& y) { return {x.a - y.a, x.b - y.b}; }
inline Lanes<16> operator*(const Lanes<16>& x, const Lanes<16>& y) { return {x.a * y.a, x.b * y.b}; }
inline Lanes<16> operator/(const Lanes<16>& x, const Lanes<16>& y) { return {x.a / y.a, x.b / y.b}; }
inline Lanes<16> fused(const Lanes<16>& x, const Lanes<16>& y, const Lanes<16>& z) { return {fused(x.a, y.a, z.a), fused(x.b, y.b, z.b)}; }
inline Lanes<16> clipped(const Lanes<16>& x, const Lanes<16>& low, const Lanes<16>& high) {
  return {clipped(x.a, low.a, high.a), clipped(x.b, low.b, high.b)};
}
inline Lanes<16> where_between(const Lanes<16>& x, const Lanes<16>& low, const Lanes<16>& high, const Lanes<16>& y) {
  return {where_between(x.a, low.a, high.a, y.a), where_between(x.b, low.b, high.b, y.b)};
}

#endif
#undef LOCKSTEP_LANES_IN_A_REGISTER

// Fetches memory that is needed soon. The address may lie outside of all arrays.
inline void prefetch(const float* at) { __builtin_prefetch(at); }
inline void prefetch_for_writing(const float* at) { __builtin_prefetch(at, 1); }
// Of rows that lie anywhere in a large table, one that is needed some rows after row i; at(i) is where row i lies.
template <typename At>
inline void prefetch_row(std::int64_t i, std::int64_t rows, const At& at) {
  if (i + tuning::kRowsAhead < rows) prefetch(at(i + tuning::kRowsAhead));
}
template <typename At>
inline void prefetch_row_for_writing(std::int64_t i, std::int64_t rows, const At& at) {
  if (i + tuning::kRowsAhead < rows) prefetch_for_writing(at(i + tuning::kRowsAhead));
}

// Where a thread's vectors of channels lie that has several: the first one, and how far apart they are, where `tiles` threads share a row
// of channels. Here all of a thread's lie side by side; on a GPU each lies beside the neighbour's.
template <int Width, int Vectors>
constexpr std::int32_t first_of_tile(std::int32_t tile) {
  return tile * (Width * Vectors);
}
template <int Width>
constexpr std::int32_t vectors_apart(std::int32_t /*tiles*/) {
  return Width;
}

template <int Value>
struct LaneCount {
  static constexpr int kValue = Value;
};

// f(first column, LaneCount) over n neighbouring columns, which the threads of a block share: kLanes each, and those left over fewer.
// (One loop serves both modes, so that the body is called from one place and becomes part of it.)
template <int Most = kLanes, typename Function>
[[gnu::always_inline]] inline void each_lanes(std::int64_t n, const Function& f) {
  const sim::KernelContext& here = sim::kernel_context;
  const bool fast = here.threads == nullptr;
  const std::int64_t first = fast ? 0 : here.thread;
  const std::int64_t stride = fast ? 1 : here.block_threads;
  std::int64_t done = 0;
  if constexpr (Most > kFewLanes) {
    const std::int64_t whole = n / Most;
    for (std::int64_t i = first; i < whole; i += stride) f(i * Most, LaneCount<Most>{});
    done = whole * Most;
  }
  const std::int64_t few = (n - done) / kFewLanes;
  for (std::int64_t i = first; i < few; i += stride) f(done + i * kFewLanes, LaneCount<kFewLanes>{});
  done += few * kFewLanes;
  for (std::int64_t c = done + first; c < n; c += stride) f(c, LaneCount<1>{});
}

}  // namespace lockstep
