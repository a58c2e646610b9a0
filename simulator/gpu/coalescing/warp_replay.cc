#include "simulator/gpu/coalescing/warp_replay.h"

#include <algorithm>

namespace lockstep::coalescing {

SectorCount sectors_of(const Request& request) {
  std::uint64_t sorted[kWarp];
  std::copy_n(request.addresses, request.lanes, sorted);
  std::sort(sorted, sorted + request.lanes);
  SectorCount count;
  std::uint64_t bytes = 0, byte_end = 0, sector_end = 0;
  for (int l = 0; l < request.lanes; ++l) {
    const std::uint64_t begin = sorted[l], end = begin + request.bytes;
    bytes += end - std::clamp(byte_end, begin, end);
    byte_end = std::max(byte_end, end);
    const std::uint64_t first = begin / kSector, last = (end - 1) / kSector + 1;
    count.touched += last - std::clamp(sector_end, first, last);
    sector_end = std::max(sector_end, last);
  }
  count.least = (bytes + kSector - 1) / kSector;
  return count;
}

void learn(FlowGraph& graph, const Trace& trace) {
  int last = FlowGraph::kEntry;
  for (const Step& step : trace) {
    if (step.bytes > 0) continue;
    graph.add_edge(last, static_cast<int>(step.place));
    last = static_cast<int>(step.place);
  }
  graph.add_edge(last, FlowGraph::kExit);
}

namespace {

// Lanes that go together, the block they have come to, and the one where they wait for others.
struct Group {
  std::uint32_t lanes;
  int at, meeting;
};

class Replay {
 public:
  Replay(FlowGraph& graph, const Trace* traces, int threads, const std::function<void(const Request&)>& each)
      : graph_(graph), traces_(traces), threads_(threads), each_(each) {}

  void run() {
    // A group waits below those that it has parted into.
    std::vector<Group> groups{{threads_ == kWarp ? ~0U : (1U << threads_) - 1U, FlowGraph::kEntry, FlowGraph::kExit}};
    while (!groups.empty()) {
      const Group now = groups.back();
      if (now.at == now.meeting) {
        groups.pop_back();
        continue;
      }
      if (now.at != FlowGraph::kEntry) go_through_block(now.lanes);
      ways_.clear();
      for_lanes(now.lanes, [&](int lane) {
        const int next = next_block(lane);
        const auto same = std::find_if(ways_.begin(), ways_.end(), [&](const Group& way) { return way.at == next; });
        if (same != ways_.end()) {
          same->lanes |= 1U << lane;
        } else {
          ways_.push_back({1U << lane, next, now.meeting});
        }
      });
      if (ways_.size() == 1) {
        groups.back().at = ways_.front().at;
        continue;
      }
      const int meeting = graph_.meeting_of(now.at);
      groups.back().at = meeting;
      for (Group& way : ways_) {
        way.meeting = meeting;
        groups.push_back(way);
      }
    }
  }

 private:
  template <typename Function>
  void for_lanes(std::uint32_t lanes, const Function& f) const {
    for (; lanes != 0; lanes &= lanes - 1) f(__builtin_ctz(lanes));
  }
  bool ended(int lane) const { return at_[lane] == traces_[lane].size(); }
  const Step& step(int lane) const { return traces_[lane][at_[lane]]; }
  int next_block(int lane) const { return ended(lane) ? FlowGraph::kExit : static_cast<int>(step(lane).place); }

  // All accesses of the block, each a request of the lanes that make it: within a block that is all of them.
  void go_through_block(std::uint32_t lanes) {
    for_lanes(lanes, [&](int lane) { ++at_[lane]; });
    for (;;) {
      Request request;
      std::uint32_t place = 0;
      for_lanes(lanes, [&](int lane) {
        if (ended(lane) || step(lane).bytes == 0) return;
        const Step& mine = step(lane);
        if (request.lanes > 0 && (mine.place != place || mine.bytes != request.bytes)) return;
        place = mine.place;
        request.addresses[request.lanes++] = mine.address;
        request.bytes = mine.bytes;
        request.view = mine.view;
        request.write = mine.write;
        ++at_[lane];
      });
      if (request.lanes == 0) return;
      each_(request);
    }
  }

  FlowGraph& graph_;
  const Trace* traces_;
  int threads_;
  const std::function<void(const Request&)>& each_;
  std::size_t at_[kWarp] = {};
  std::vector<Group> ways_;
};

}  // namespace

void replay_warp(FlowGraph& graph, const Trace* traces, int threads, const std::function<void(const Request&)>& each) {
  Replay(graph, traces, threads, each).run();
}

}  // namespace lockstep::coalescing
