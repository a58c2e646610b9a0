#include "lockstep/replica_report.h"

#include <numeric>

#include "engine/train/model_impl.h"

namespace lockstep {

double ReplicaReport::step_seconds() const { return std::accumulate(seconds.begin() + 1, seconds.end(), 0.0); }

ReplicaReport ReplicaReport::since(const ReplicaReport& earlier) const {
  ReplicaReport rest = *this;
  rest.steps -= earlier.steps;
  rest.samples -= earlier.samples;
  rest.loss_sum -= earlier.loss_sum;
  rest.replications -= earlier.replications;
  rest.replicated_bytes -= earlier.replicated_bytes;
  rest.summed_bytes -= earlier.summed_bytes;
  rest.updates -= earlier.updates;
  for (std::size_t i = 0; i < seconds.size(); ++i) rest.seconds[i] -= earlier.seconds[i];
  return rest;
}

std::vector<ReplicaReport> replica_reports(const Model& model) {
  return model.impl()->step ? model.impl()->step->reports() : std::vector<ReplicaReport>();
}

}  // namespace lockstep
