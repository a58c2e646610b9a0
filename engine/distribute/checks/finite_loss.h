// A loss that is not finite is an Error before the update, so that the weights survive it.
#pragma once

#include "engine/distribute/replica/compiled.h"
#include "engine/distribute/replica/replica_set.h"

namespace lockstep {

// Between phases 4 and 5. The Error names where the number comes from: a sample, a variable or the first layer.
void require_finite_loss(ReplicaSet& replicas, const StepBatch& batch, const Compiled& compiled);

}  // namespace lockstep
