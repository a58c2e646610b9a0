// Functions that the device's own library has: printf and the end of an assert.
#pragma once

#include <cstdint>

#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

// `slots` as a call has them: how many results, where each is in local memory; how many arguments, where each is.
void call_device_function(Warp& warp, std::int64_t function, const std::uint32_t* slots, Mask active);

}  // namespace lockstep::ptx
