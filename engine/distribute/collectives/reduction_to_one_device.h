// The simplest all-reduce: replica 0 adds up all buffers and sends the sum back.
//
// 2(n - 1) messages of S bytes, all through replica 0's link: fine for two replicas or one card, the bottleneck for many. It adds in
// replica order, ((x0 + x1) + x2) + ..., so it is also the one to compare others with.
#pragma once

#include <vector>

#include "engine/distribute/collectives/reduction_tree.h"

namespace lockstep {

class ReductionToOneDeviceOps : public ReductionTree {
 public:
  std::string name() const override { return "one-device"; }
  std::vector<Edge> edges(const std::vector<LogicalGpu*>& gpus) const override;
};

}  // namespace lockstep
