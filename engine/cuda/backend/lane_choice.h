// CUDA twin of simulator/gpu/backend/lane_choice.h.
#pragma once

#include <cstdint>

#include <backend/lanes.h>

namespace lockstep {

__device__ inline Lanes<kFewLanes> relu(Lanes<kFewLanes> a) {
  for (float& lane : a.v) lane = lane < 0.0F ? 0.0F : lane;
  return a;
}

static_assert(kFewLanes == 4);  // their bytes are one word

template <int Width>
struct LaneChoice;

template <>
struct LaneChoice<kFewLanes> {
  std::int32_t v[kFewLanes];
  __device__ static LaneChoice first() { return {}; }
  __device__ static LaneChoice load(const std::uint8_t* from) {
    LaneChoice choice;
    if (reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t) == 0) {
      const auto word = *reinterpret_cast<const std::uint32_t*>(from);
      LOCKSTEP_UNROLL
      for (int i = 0; i < kFewLanes; ++i) choice.v[i] = static_cast<std::int32_t>(word >> (8 * i) & 255U);
      return choice;
    }
    LOCKSTEP_UNROLL
    for (int i = 0; i < kFewLanes; ++i) choice.v[i] = from[i];
    return choice;
  }
  __device__ void store(std::uint8_t* to) const {
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof(std::uint32_t) == 0) {
      std::uint32_t word = 0;
      LOCKSTEP_UNROLL
      for (int i = 0; i < kFewLanes; ++i) word |= (static_cast<std::uint32_t>(v[i]) & 255U) << (8 * i);
      *reinterpret_cast<std::uint32_t*>(to) = word;
      return;
    }
    LOCKSTEP_UNROLL
    for (int i = 0; i < kFewLanes; ++i) to[i] = static_cast<std::uint8_t>(v[i]);
  }
};

__device__ inline void challenge(Lanes<kFewLanes>& best, LaneChoice<kFewLanes>& choice, Lanes<kFewLanes> candidate, int number) {
  for (int i = 0; i < kFewLanes; ++i) {
    const bool wins = candidate.v[i] > best.v[i] || candidate.v[i] != candidate.v[i];
    best.v[i] = wins ? candidate.v[i] : best.v[i];
    choice.v[i] = wins ? number : choice.v[i];
  }
}
__device__ inline LaneChoice<kFewLanes> where_positive(LaneChoice<kFewLanes> choice, Lanes<kFewLanes> value) {
  for (int i = 0; i < kFewLanes; ++i) choice.v[i] = value.v[i] > 0.0F ? choice.v[i] : -1;
  return choice;
}
__device__ inline Lanes<kFewLanes> where_chosen(LaneChoice<kFewLanes> choice, int number, Lanes<kFewLanes> value) {
  for (int i = 0; i < kFewLanes; ++i) value.v[i] = choice.v[i] == number ? value.v[i] : 0.0F;
  return value;
}

__device__ inline Lanes<kFewLanes> where_any(LaneChoice<kFewLanes> choice, Lanes<kFewLanes> value) {
  for (int i = 0; i < kFewLanes; ++i) value.v[i] = choice.v[i] == 255 ? 0.0F : value.v[i];
  return value;
}

}  // namespace lockstep
