// Tree all-reduce: in round k replica r, a multiple of 2^(k + 1), gets what replica r + 2^k has gathered.
#include "engine/distribute/collectives/tree_all_reduce.h"

namespace lockstep {

std::vector<ReductionTree::Edge> TreeAllReduceOps::edges(const std::vector<LogicalGpu*>& gpus) const {
  const int n = static_cast<int>(gpus.size());
  std::vector<Edge> edges;
  for (int distance = 1; distance < n; distance *= 2) {
    for (int parent = 0; parent + distance < n; parent += 2 * distance) edges.push_back({parent, parent + distance});
  }
  return edges;
}

}  // namespace lockstep
