// Breaks a copy on purpose, so that a test sees each check of copies fail (lockstep/flipped_bit.h).
#pragma once

#include "engine/distribute/replica/replica_set.h"
#include "lockstep/flipped_bit.h"

namespace lockstep {

// In the step that `bit` names, once all is done on the GPUs and nothing of the next step is issued.
void flip_bit(ReplicaSet& replicas, const FlippedBit& bit, std::int64_t step);

}  // namespace lockstep
