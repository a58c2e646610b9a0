// An Error of a step, with its place: which replicas, which phase, which step. Its text begins with them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/distribute/collectives/replica_error.h"
#include "engine/distribute/replica/rendezvous.h"
#include "simulator/trace/span.h"

namespace lockstep {

struct StepError : Error {
  // "replica 1, phase all-reduce, step 3: what happened"; no replica where it belongs to none.
  StepError(std::vector<int> which, Phase where, std::int64_t when, const std::string& what)
      : Error((which.empty() ? "" : replica_names(which) + ", ") + "phase " + to_string(where) + ", step " + std::to_string(when) + ": " +
              what),
        replicas(std::move(which)),
        phase(where),
        step(when),
        happened(what) {}

  std::vector<int> replicas;
  Phase phase;
  std::int64_t step;
  std::string happened;
};

// Does something of a phase: a ReplicaError in there becomes a StepError.
template <typename Action>
void in_phase(Phase phase, std::int64_t step, Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const ReplicaError& error) {
    throw StepError(error.replicas, phase, step, error.what());
  }
}

}  // namespace lockstep
