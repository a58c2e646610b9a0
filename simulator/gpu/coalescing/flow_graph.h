// Which basic blocks of a kernel follow which, as far as its threads have shown, and where ways that part meet again.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lockstep::coalescing {

class FlowGraph {
 public:
  static constexpr int kEntry = 0, kExit = 1;  // before a thread's first block and behind its last: barriers are both

  FlowGraph();
  int node_at(std::uint32_t place);  // of the program; made when it is new
  void add_edge(int from, int to);
  // The first block that all ways from this one to the exit go through: its immediate post-dominator.
  int meeting_of(int node);

 private:
  void find_meetings();  // Cooper, Harvey and Kennedy 2001, "A Simple, Fast Dominance Algorithm", on the graph turned round

  std::unordered_map<std::uint32_t, int> nodes_;
  std::vector<std::vector<int>> next_, before_;
  std::vector<int> meetings_;
  bool known_ = false;
};

}  // namespace lockstep::coalescing
