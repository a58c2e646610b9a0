// CUDA twin of simulator/gpu/backend/lanes.h: four neighbouring floats a thread, so that a warp's loads are wide and side by side.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <backend/host_device.h>
#include <backend/tuning.h>

#define LOCKSTEP_UNROLL _Pragma("unroll")
#define LOCKSTEP_NO_UNROLL _Pragma("unroll 1")

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
__device__ inline Lanes<Width> load_lanes(const float* from) {
  Lanes<Width> a;
  if constexpr (Width % 4 == 0) {
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(float4) == 0) {
      LOCKSTEP_UNROLL
      for (int i = 0; i < Width; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + i);
        a.v[i] = four.x, a.v[i + 1] = four.y, a.v[i + 2] = four.z, a.v[i + 3] = four.w;
      }
      return a;
    }
  }
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] = from[i];
  return a;
}
template <int Width>
__device__ inline Lanes<Width> fill_lanes(float value) {
  Lanes<Width> a;
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] = value;
  return a;
}
template <int Width>
__device__ inline void store_lanes(float* to, const Lanes<Width>& a) {
  if constexpr (Width % 4 == 0) {
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(float4) == 0) {
      LOCKSTEP_UNROLL
      for (int i = 0; i < Width; i += 4) *reinterpret_cast<float4*>(to + i) = make_float4(a.v[i], a.v[i + 1], a.v[i + 2], a.v[i + 3]);
      return;
    }
  }
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) to[i] = a.v[i];
}
template <int Width>
__device__ inline Lanes<Width> operator+(Lanes<Width> a, const Lanes<Width>& b) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] += b.v[i];
  return a;
}
template <int Width>
__device__ inline Lanes<Width> operator-(Lanes<Width> a, const Lanes<Width>& b) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] -= b.v[i];
  return a;
}
template <int Width>
__device__ inline Lanes<Width> operator*(Lanes<Width> a, const Lanes<Width>& b) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] *= b.v[i];
  return a;
}
template <int Width>
__device__ inline Lanes<Width> operator/(Lanes<Width> a, const Lanes<Width>& b) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) a.v[i] /= b.v[i];
  return a;
}
template <int Width>
__device__ inline Lanes<Width> fused(const Lanes<Width>& a, const Lanes<Width>& b, Lanes<Width> c) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) c.v[i] = fmaf(a.v[i], b.v[i], c.v[i]);
  return c;
}
template <int Width>
__device__ inline Lanes<Width> clipped(Lanes<Width> a, const Lanes<Width>& low, const Lanes<Width>& high) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) {
    const float z = low.v[i] > a.v[i] ? low.v[i] : a.v[i];
    a.v[i] = high.v[i] < z ? high.v[i] : z;
  }
  return a;
}
template <int Width>
__device__ inline Lanes<Width> where_between(const Lanes<Width>& a, const Lanes<Width>& low, const Lanes<Width>& high, Lanes<Width> b) {
  LOCKSTEP_UNROLL
  for (int i = 0; i < Width; ++i) b.v[i] = a.v[i] > low.v[i] && a.v[i] < high.v[i] ? b.v[i] : 0.0F;
  return b;
}

// Warps that wait give way to others: nothing to do here.
__device__ inline void prefetch(const float* /*at*/) {}
__device__ inline void prefetch_for_writing(const float* /*at*/) {}
template <typename At>
__device__ inline void prefetch_row(std::int64_t /*i*/, std::int64_t /*rows*/, const At& /*at*/) {}
template <typename At>
__device__ inline void prefetch_row_for_writing(std::int64_t /*i*/, std::int64_t /*rows*/, const At& /*at*/) {}

// Where a thread's vectors of channels lie that has several: the first one, and how far apart they are, where `tiles` threads share a row
// of channels. Each vector lies beside the neighbour's, so that a warp's loads coalesce.
template <int Width, int Vectors>
__device__ inline std::int32_t first_of_tile(std::int32_t tile) {
  return tile * Width;
}
template <int Width>
__device__ inline std::int32_t vectors_apart(std::int32_t tiles) {
  return tiles * Width;
}

template <int Value>
struct LaneCount {
  static constexpr int kValue = Value;
};

template <int Most = kLanes, typename Function>
__device__ inline void each_lanes(std::int64_t n, const Function& f) {
  const std::int64_t whole = n / kLanes;
  for (std::int64_t i = threadIdx.x; i < whole; i += blockDim.x) f(i * kLanes, LaneCount<kLanes>{});
  for (std::int64_t c = whole * kLanes + threadIdx.x; c < n; c += blockDim.x) f(c, LaneCount<1>{});
}

}  // namespace lockstep
