// Tree all-reduce: pairs add up, then pairs of pairs, and so on; the sum comes back the same way (a binomial tree).
//
// 2(n - 1) messages of S bytes like the reduction to one device, but only 2 ceil(log2 n) of them follow one another: the least latency of
// all, which wins for small buckets on many replicas. The busiest replica sends ceil(log2 n) S bytes, where the ring's send 2S(n - 1)/n.
#pragma once

#include <vector>

#include "engine/distribute/collectives/reduction_tree.h"

namespace lockstep {

class TreeAllReduceOps : public ReductionTree {
 public:
  std::string name() const override { return "tree"; }
  std::vector<Edge> edges(const std::vector<LogicalGpu*>& gpus) const override;
};

}  // namespace lockstep
