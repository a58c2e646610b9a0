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
  std::vector<ReplicaReport> reports;
  if (!model.impl()->step) return reports;
  MirroredStep& step = *model.impl()->step;
  const std::vector<ReplicaTimes> times = step.times();
  for (std::size_t r = 0; r < times.size(); ++r) {
    LogicalGpu& gpu = step.replica(static_cast<int>(r)).gpu();
    ReplicaReport report;
    report.replica = step.first_replica() + static_cast<int>(r);
    report.device = gpu.name();
    report.steps = times[r].steps;
    report.samples = times[r].samples;
    report.loss_sum = times[r].loss_sum;
    report.seconds = times[r].seconds;
    report.replications = times[r].replications;
    report.replicated_bytes = times[r].replicated_bytes;
    report.summed_bytes = times[r].summed_bytes;
    report.updates = times[r].updates;
    report.memory_used = gpu.arena().used();
    report.memory_peak = gpu.arena().peak();
    report.memory_limit = gpu.arena().limit();
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace lockstep
