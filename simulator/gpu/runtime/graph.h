// Graphs: operations and kernel launches that were captured instead of run, and what order they need.
//
// Every stream that took part in the capture is a lane of the graph; the first lane is the stream it began on. Nodes stand in
// the order of their calls, so each comes after everything it depends on. A launch appends a node for each to the lanes'
// streams, all under one lock, and looks at nothing again: arguments were checked when they were captured.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/runtime/queue.h"

struct CUgraphNode_st {
  lockstep::sim::NodeKind kind = lockstep::sim::NodeKind::operation;
  int lane = 0;
  int parts = 1;
  std::vector<std::size_t> after;  // nodes of other lanes; at most one of each, since a lane is in order
  lockstep::sim::KernelCall kernel;
  lockstep::sim::Operation operation;
};

namespace lockstep::sim {

struct GraphBody {
  std::vector<CUgraphNode_st> nodes;
  std::vector<int> devices;  // of the lanes
};

}  // namespace lockstep::sim

struct CUgraph_st {
  std::atomic<bool> alive{false};
  std::shared_ptr<const lockstep::sim::GraphBody> body;
};

// A graph that can be launched: with streams for its lanes. Its launches run one after another.
struct CUgraphExec_st {
  std::atomic<bool> alive{false};
  std::shared_ptr<const lockstep::sim::GraphBody> body;
  std::vector<lockstep::sim::Stream*> lanes;
  std::mutex mutex;
  lockstep::sim::Moment last;
};
