#include "engine/nn/program_graphs.h"

#include <algorithm>
#include <optional>

#include "lockstep/error.h"

namespace lockstep {

// Nothing runs in here and `ready` is not called, so a capture that fails has no effect.
bool PassGraphs::capture(const Pass& pass, const std::vector<bool>& segment_ends) {
  std::vector<Segment> made;
  std::optional<StreamCapture> open;
  Segment segment;
  std::size_t now = 0;
  const auto end_segment = [&] {
    if (!open) return;
    segment.graph = open->end();
    open.reset();
    if (segment.graph || !segment.ready.empty()) made.push_back(std::move(segment));
    segment = Segment();
  };
  const Ready ready = [&](int variable) {
    segment.ready.push_back(variable);
    if (!segment_ends[static_cast<std::size_t>(variable)]) return;
    end_segment();
    open.emplace(*pass.stream);
    segment.steps.push_back(now);  // its work may continue in the next segment
  };
  try {
    for (now = 0; now < pass.steps; ++now) {
      if (pass.fixed(now)) {
        if (!open) open.emplace(*pass.stream);
        segment.steps.push_back(now);
        pass.capture(now, ready);
        continue;
      }
      end_segment();
      Segment alone;
      alone.by_itself = true;
      alone.steps = {now};
      made.push_back(std::move(alone));
    }
    end_segment();
  } catch (const Error&) {
    if (!open || !open->refused()) throw;
    refused_ = true;
    return false;
  }
  segments_ = std::move(made);
  return true;
}

void PassGraphs::run(const Pass& pass, const std::vector<bool>& segment_ends, const Ready& ready) {
  const bool replay = warm_ && !refused_ && pass.steps > 0 && (!segments_.empty() || capture(pass, segment_ends));
  if (!replay) {
    for (std::size_t step = 0; step < pass.steps; ++step) pass.issue(step, ready);
    warm_ = true;
    return;
  }
  for (const Segment& segment : segments_) {
    if (segment.by_itself) {
      pass.issue(segment.steps.front(), ready);
      continue;
    }
    if (segment.graph) pass.launch(segment.steps, segment.graph);
    for (const int variable : segment.ready) ready(variable);
  }
}

int PassGraphs::graphs() const {
  return static_cast<int>(
      std::count_if(segments_.begin(), segments_.end(), [](const Segment& one) { return static_cast<bool>(one.graph); }));
}

}  // namespace lockstep
