// The six phases of a mirrored step in their order, as they are called everywhere.
#pragma once

#include <array>

namespace lockstep {

inline constexpr std::array<const char*, 6> kPhases = {"replicate", "shard", "local gradients", "all-reduce", "update", "barrier"};

}  // namespace lockstep
