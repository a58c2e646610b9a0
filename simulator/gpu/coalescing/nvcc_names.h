// What nvcc declares without an include, for kernels that g++ compiles with the helpers that nvcc gets.
//
// A wide value is read and written in one piece, as by one instruction of a GPU.
#pragma once

#include <cmath>

#include <backend/block_functions.h>
#include <backend/context.h>
#include <backend/qualifiers.h>

namespace lockstep::coalescing {

// `Piece` is a vector type of the compiler, as large as `Value`.
template <typename Piece, typename Value>
[[gnu::always_inline]] inline void copy_whole(Value* to, const Value* from) {
  *reinterpret_cast<Piece*>(to) = *reinterpret_cast<const Piece*>(from);
}

typedef float FourFloats __attribute__((vector_size(16), may_alias));  // NOLINT(modernize-use-using): the attribute needs it
typedef unsigned TwoWords __attribute__((vector_size(8), may_alias));  // NOLINT(modernize-use-using)

}  // namespace lockstep::coalescing

struct alignas(16) float4 {
  float x, y, z, w;
  float4() = default;
  float4(float a, float b, float c, float d) : x(a), y(b), z(c), w(d) {}
  float4(const float4& other) { lockstep::coalescing::copy_whole<lockstep::coalescing::FourFloats>(this, &other); }
  float4& operator=(const float4& other) {
    lockstep::coalescing::copy_whole<lockstep::coalescing::FourFloats>(this, &other);
    return *this;
  }
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct alignas(8) uint2 {
  unsigned x, y;
  uint2() = default;
  uint2(unsigned a, unsigned b) : x(a), y(b) {}
  uint2(const uint2& other) { lockstep::coalescing::copy_whole<lockstep::coalescing::TwoWords>(this, &other); }
  uint2& operator=(const uint2& other) {
    lockstep::coalescing::copy_whole<lockstep::coalescing::TwoWords>(this, &other);
    return *this;
  }
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
