// What each replica did while a model was trained, and where its time went: measured in every step, cheaply, without a trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/model.h"
#include "lockstep/phases.h"

namespace lockstep {

// One replica since its model was built.
struct ReplicaReport {
  int replica = 0;
  std::string device;  // "/gpu:0/logical:1"
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double loss_sum = 0;  // over the samples, before each step's update
  // Seconds by phase. All-reduce: only what the replica waited for it, since the rest is hidden by local gradients. Barrier: waiting for
  // the others, and the host's work between the phases. Replicate happens once, not in every step.
  std::array<double, 6> seconds{};
  // What the phases did for this replica, counted as it was issued.
  std::int64_t replications = 0;      // how often phase 1 ran
  std::int64_t replicated_bytes = 0;  // that it copied to this replica: variables, slots and state
  std::int64_t summed_bytes = 0;      // of sums that phase 4 put there: an embedding's by the rows that travelled
  std::int64_t updates = 0;           // that phase 5 made of this replica's copy
  std::size_t memory_used = 0, memory_peak = 0, memory_limit = 0;  // bytes on its GPU

  double loss() const { return samples > 0 ? loss_sum / static_cast<double>(samples) : 0; }
  double step_seconds() const;                              // of phases 2 to 6, all steps together
  ReplicaReport since(const ReplicaReport& earlier) const;  // what came after it; memory as it is
};

// This worker's replicas in their order; none before the model is built.
std::vector<ReplicaReport> replica_reports(const Model& model);

}  // namespace lockstep
