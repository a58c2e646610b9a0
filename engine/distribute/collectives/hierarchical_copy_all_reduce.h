// Hierarchical copy: a leader adds up its group, the leaders add up among themselves, and the sum goes back the same way.
//
// A group is a card, where several replicas share cards: then only 2(cards - 1) of the 2(n - 1) messages leave a card, however many
// replicas each holds. Where every replica has a card of its own, or all share one, groups are of about sqrt(n) replicas, which keeps the
// number of messages through any one leader smallest. (TensorFlow's op of this name knows two groups of four: the links of a DGX-1.)
#pragma once

#include <vector>

#include "engine/distribute/collectives/reduction_tree.h"

namespace lockstep {

class HierarchicalCopyAllReduceOps : public ReductionTree {
 public:
  std::string name() const override { return "hierarchical-copy"; }
  std::vector<Edge> edges(const std::vector<LogicalGpu*>& gpus) const override;
  // The replicas of each group, its leader first.
  static std::vector<std::vector<int>> groups(const std::vector<LogicalGpu*>& gpus);
};

}  // namespace lockstep
