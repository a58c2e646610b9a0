// Reduction to one device: a star with replica 0 in the middle.
#include "engine/distribute/collectives/reduction_to_one_device.h"

namespace lockstep {

std::vector<ReductionTree::Edge> ReductionToOneDeviceOps::edges(const std::vector<LogicalGpu*>& gpus) const {
  std::vector<Edge> edges;
  for (int replica = 1; replica < static_cast<int>(gpus.size()); ++replica) edges.push_back({0, replica});
  return edges;
}

}  // namespace lockstep
