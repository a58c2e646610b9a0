// A pass of a program (forward, or backward) as CUDA graphs: hundreds of launches become a few.
//
// Shapes and addresses of a program stay, so most of its operations are the same at every step. The first run issues them one by one, and
// the libraries get ready; the second captures them, and from then on they are launched. Between two graphs stands what cannot be in one:
// a step whose arguments change (a random layer's key, sums over replicas), or an event that others wait for because gradients are
// complete. So a pass becomes segments, and the communication beside it begins as early as without graphs.
#pragma once

#include <functional>
#include <vector>

#include "engine/device/captured_graph.h"

namespace lockstep {

class PassGraphs {
 public:
  using Ready = std::function<void(int variable)>;
  // The steps of a pass, in the order they run.
  struct Pass {
    const Stream* stream = nullptr;
    std::size_t steps = 0;
    std::function<bool(std::size_t step)> fixed;                        // takes the same arguments every time
    std::function<void(std::size_t step, const Ready& ready)> issue;    // as in a run
    std::function<void(std::size_t step, const Ready& ready)> capture;  // the same for a fixed one, in a capture: without a StepInfo
    // A graph that holds work of these steps.
    std::function<void(const std::vector<std::size_t>& steps, const CapturedGraph& graph)> launch;
  };

  // Runs the pass, one way or the other: the same operations in the same order, so the same bits.
  // Where `segment_ends` says so a segment ends as soon as that variable is ready.
  void run(const Pass& pass, const std::vector<bool>& segment_ends, const Ready& ready);
  void clear() { segments_.clear(); }  // addresses or arguments have changed

  int graphs() const;  // that a run launches, once they are captured

 private:
  struct Segment {
    CapturedGraph graph;
    bool by_itself = false;          // a step that is issued by itself
    std::vector<std::size_t> steps;  // whose work it holds
    std::vector<int> ready;          // variables whose gradients the graph completes
  };
  bool capture(const Pass& pass, const std::vector<bool>& segment_ends);

  std::vector<Segment> segments_;
  bool warm_ = false;
  bool refused_ = false;  // something in here can't be captured
};

}  // namespace lockstep
