// Copies between the memories of two logical GPUs, on one card or on two.
#pragma once

#include <cstdint>
#include <vector>

#include "logical_gpu.h"

namespace lockstep {

// Asynchronous on `stream`, which belongs to either side. On one card a plain device copy, between cards a peer copy.
void copy_between(const Stream& stream, const LogicalGpu& from_gpu, const void* from, const LogicalGpu& to_gpu, void* to,
                  std::int64_t bytes);

// Lets every card of the list reach the memory of every other where the hardware can; where it can't, peer copies go through the host.
void enable_peer_access(const std::vector<LogicalGpu*>& gpus);

}  // namespace lockstep
