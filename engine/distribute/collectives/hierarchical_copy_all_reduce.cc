// Hierarchical copy: the edges inside the groups, then those between their leaders.
#include "engine/distribute/collectives/hierarchical_copy_all_reduce.h"

#include <algorithm>

namespace lockstep {
namespace {

std::vector<std::vector<int>> by_card(const std::vector<LogicalGpu*>& gpus) {
  std::vector<std::vector<int>> groups;
  for (int replica = 0; replica < static_cast<int>(gpus.size()); ++replica) {
    const int card = gpus[static_cast<std::size_t>(replica)]->physical();
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int>& group) {
      return gpus[static_cast<std::size_t>(group.front())]->physical() == card;
    });
    if (same == groups.end()) {
      groups.push_back({replica});
    } else {
      same->push_back(replica);
    }
  }
  return groups;
}

std::vector<std::vector<int>> of_equal_size(int n) {
  int size = 1;
  while (size * size < n) ++size;
  std::vector<std::vector<int>> groups;
  for (int replica = 0; replica < n; ++replica) {
    if (replica % size == 0) groups.emplace_back();
    groups.back().push_back(replica);
  }
  return groups;
}

}  // namespace

std::vector<std::vector<int>> HierarchicalCopyAllReduceOps::groups(const std::vector<LogicalGpu*>& gpus) {
  std::vector<std::vector<int>> cards = by_card(gpus);
  if (cards.size() > 1 && cards.size() < gpus.size()) return cards;
  return of_equal_size(static_cast<int>(gpus.size()));
}

std::vector<ReductionTree::Edge> HierarchicalCopyAllReduceOps::edges(const std::vector<LogicalGpu*>& gpus) const {
  const std::vector<std::vector<int>> groups = HierarchicalCopyAllReduceOps::groups(gpus);
  std::vector<Edge> edges;
  for (const std::vector<int>& group : groups) {
    for (std::size_t member = 1; member < group.size(); ++member) edges.push_back({group.front(), group[member]});
  }
  for (std::size_t other = 1; other < groups.size(); ++other) edges.push_back({0, groups[other].front()});
  return edges;
}

}  // namespace lockstep
