// CUDA twin of simulator/gpu/kernel/lane_choice.h.
#pragma once

#include <cstdint>

#include "lanes.h"

namespace lockstep {

__device__ inline Lanes<8> relu(Lanes<8> a) {
  for (float& lane : a.v) lane = lane < 0.0F ? 0.0F : lane;
  return a;
}

struct LaneChoice {
  std::int32_t v[8];
  __device__ static LaneChoice first() { return {}; }
  __device__ static LaneChoice load(const std::uint8_t* from) {
    LaneChoice choice;
    for (int i = 0; i < 8; ++i) choice.v[i] = from[i];
    return choice;
  }
  __device__ void store(std::uint8_t* to) const {
    for (int i = 0; i < 8; ++i) to[i] = static_cast<std::uint8_t>(v[i]);
  }
};

__device__ inline void challenge(Lanes<8>& best, LaneChoice& choice, Lanes<8> candidate, int number) {
  for (int i = 0; i < 8; ++i) {
    const bool wins = candidate.v[i] > best.v[i] || candidate.v[i] != candidate.v[i];
    best.v[i] = wins ? candidate.v[i] : best.v[i];
    choice.v[i] = wins ? number : choice.v[i];
  }
}
__device__ inline LaneChoice where_positive(LaneChoice choice, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) choice.v[i] = value.v[i] > 0.0F ? choice.v[i] : -1;
  return choice;
}
__device__ inline Lanes<8> where_chosen(LaneChoice choice, int number, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) value.v[i] = choice.v[i] == number ? value.v[i] : 0.0F;
  return value;
}

__device__ inline Lanes<8> where_any(LaneChoice choice, Lanes<8> value) {
  for (int i = 0; i < 8; ++i) value.v[i] = choice.v[i] == 255 ? 0.0F : value.v[i];
  return value;
}

}  // namespace lockstep
