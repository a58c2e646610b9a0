// Refusals that optimizers share.
#pragma once

#include <cmath>
#include <string>

#include "lockstep/error.h"

namespace lockstep {

inline void check_rate(const std::string& optimizer, float rate) {
  if (!std::isfinite(rate) || rate < 0)
    throw Error(optimizer + ": the learning rate must be a number not below 0, not " + std::to_string(rate));
}

// For decay rates and momentum: with 1 a running mean would never change.
inline void check_range(const std::string& optimizer, const std::string& what, float value) {
  if (!(value >= 0 && value < 1)) throw Error(optimizer + ": " + what + " must be at least 0 and below 1, not " + std::to_string(value));
}

}  // namespace lockstep
