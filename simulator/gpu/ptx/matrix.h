// What operations on matrices share.
#pragma once

#include <bit>

#include "simulator/gpu/ptx/half.h"
#include "simulator/gpu/ptx/instruction.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

inline void need_all_lanes(Mask mask) {
  if (mask != kAllLanes) throw Fault{std::countr_zero(mask), "a matrix instruction without all 32 lanes of the warp"};
}

inline double as_double(float value) { return static_cast<double>(value); }
inline double as_double(Bfloat value) { return static_cast<double>(widen(value)); }
inline double as_double(Half value) { return static_cast<double>(widen(value)); }

inline Parameter registers(Parameter::Role role, int count, bool floating) {
  Parameter parameter;
  parameter.role = role;
  parameter.count = count;
  parameter.floating = floating;
  return parameter;
}

}  // namespace lockstep::ptx
