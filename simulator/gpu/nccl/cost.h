// What a rank's part of a collective costs, and the bytes that it touches on a real machine, which are those of its own buffers: for the
// model clock and the race detector.
#pragma once

#include <vector>

#include "simulator/gpu/nccl/exchange.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim::nccl {

Cost cost_of(const CollectiveSignature& what, int ranks, std::size_t share);
std::vector<Touch> touches_of(const CollectiveSignature& what, int ranks, const void* send, const void* receive);

}  // namespace lockstep::sim::nccl
