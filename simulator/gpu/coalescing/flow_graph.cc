#include "simulator/gpu/coalescing/flow_graph.h"

#include <algorithm>
#include <utility>

namespace lockstep::coalescing {

FlowGraph::FlowGraph() : next_(2), before_(2) {}

int FlowGraph::node_at(std::uint32_t place) {
  if (const auto found = nodes_.find(place); found != nodes_.end()) return found->second;
  const int made = static_cast<int>(next_.size());
  nodes_.emplace(place, made);
  next_.emplace_back();
  before_.emplace_back();
  return made;
}

void FlowGraph::add_edge(int from, int to) {
  std::vector<int>& next = next_[static_cast<std::size_t>(from)];
  if (std::find(next.begin(), next.end(), to) != next.end()) return;
  next.push_back(to);
  before_[static_cast<std::size_t>(to)].push_back(from);
  known_ = false;
}

int FlowGraph::meeting_of(int node) {
  if (!known_) find_meetings();
  return meetings_[static_cast<std::size_t>(node)];
}

void FlowGraph::find_meetings() {
  // Nodes in the order in which a walk back from the exit leaves them; the exit comes last and has the highest number.
  std::vector<int> order, number(next_.size(), -1);
  std::vector<std::pair<int, std::size_t>> path{{kExit, 0}};
  std::vector<bool> seen(next_.size());
  seen[kExit] = true;
  while (!path.empty()) {
    auto& [node, step] = path.back();
    const std::vector<int>& before = before_[static_cast<std::size_t>(node)];
    if (step == before.size()) {
      number[static_cast<std::size_t>(node)] = static_cast<int>(order.size());
      order.push_back(node);
      path.pop_back();
    } else if (const int other = before[step++]; !seen[static_cast<std::size_t>(other)]) {
      seen[static_cast<std::size_t>(other)] = true;
      path.emplace_back(other, 0);
    }
  }
  meetings_.assign(next_.size(), -1);
  meetings_[kExit] = kExit;
  const auto rank = [&](int node) { return number[static_cast<std::size_t>(node)]; };
  const auto meet = [&](int a, int b) {
    while (a != b) {
      while (rank(a) < rank(b)) a = meetings_[static_cast<std::size_t>(a)];
      while (rank(b) < rank(a)) b = meetings_[static_cast<std::size_t>(b)];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (*node == kExit) continue;
      int found = -1;
      for (const int next : next_[static_cast<std::size_t>(*node)]) {
        if (meetings_[static_cast<std::size_t>(next)] >= 0) found = found < 0 ? next : meet(found, next);
      }
      if (std::exchange(meetings_[static_cast<std::size_t>(*node)], found) != found) changed = true;
    }
  }
  known_ = true;
}

}  // namespace lockstep::coalescing
