// Spans by step and replica, and the chain of them that a step's length follows from.
#pragma once

#include <map>
#include <vector>

#include "simulator/trace/figures.h"

namespace lockstep {

struct ReplicaSpans {
  std::vector<const Span*> phases;  // depth 0, in order of begin
  std::vector<const Span*> parts;
};
using StepCells = std::map<int, ReplicaSpans>;  // by replica
using StepTable = std::map<std::int64_t, StepCells>;
StepTable step_table(const std::vector<Span>& spans);  // points into `spans`

std::vector<CriticalPiece> critical_path(const StepCells& cells, std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace lockstep
