// Which physical GPUs are split, and which are in use: the rules of split_gpu.
#pragma once

#include <memory>

#include "lockstep/logical.h"
#include "simulator/logical/arena.h"

namespace lockstep {

// Held by everything that uses a (logical) GPU; while a claim exists, its physical GPU is in use.
struct GpuClaim {
  GpuId id;  // with its memory limit filled in
  Arena arena;
};

// The claim on `id`, shared by all users of that GPU. An Error where there is no such GPU, where `id` is a whole GPU that
// was split, or a logical one that was not made by split_gpu.
std::shared_ptr<const GpuClaim> claim_gpu(const GpuId& id);

// Forgets all splits, so that a test or a notebook can start again. An Error while a GPU is in use.
void forget_splits();

}  // namespace lockstep
