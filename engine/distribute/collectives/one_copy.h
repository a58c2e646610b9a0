// The logical GPUs of one card share one copy of weights and optimizer slots, which one card needs only once.
//
// This is not mirrored training: nothing is replicated, and there is nothing to compare. So it is only used where it is asked for by name.
// Gradients, statistics and activations stay each replica's own. Replica 0 adds the others' gradients to its own, in the order of the
// replicas, and updates the copy that all read: n - 1 messages instead of 2(n - 1), one update instead of n, and 1/n of the memory. The
// same bits as "one-device" with n copies.
#pragma once

#include <vector>

#include "engine/distribute/collectives/reduction_to_one_device.h"

namespace lockstep {

class OneCopyOps : public ReductionToOneDeviceOps {
 public:
  std::string name() const override { return "one-copy"; }
  bool one_copy() const override { return true; }
  void prepare(const std::vector<LogicalGpu*>& gpus, std::int64_t elements) override;  // an Error where there are several cards
};

}  // namespace lockstep
