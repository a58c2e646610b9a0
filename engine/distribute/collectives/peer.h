// Copies between the memories of two logical GPUs, on one card or on two.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/op_context.h"
#include "engine/tensor/tensor.h"
#include "simulator/logical/logical_gpu.h"

namespace lockstep {

// Asynchronous on `stream`, which belongs to either side. On one card a plain device copy, between cards a peer copy.
void copy_between(const Stream& stream, const LogicalGpu& from_gpu, const void* from, const LogicalGpu& to_gpu, void* to,
                  std::int64_t bytes);

// to += from, where `to` is the receiver's. On one card the sender's memory is read where it is; from another card it is copied to
// `staging` first, which holds at least as many bytes.
void add_between(const OpContext& receiver, const LogicalGpu& from_gpu, const Tensor& from, const Tensor& to, const Buffer& staging);

// Lets every card of the list reach the memory of every other where the hardware can; where it can't, peer copies go through the host.
void enable_peer_access(const std::vector<LogicalGpu*>& gpus);

}  // namespace lockstep
