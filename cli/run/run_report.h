// The report of a training run: each replica after every epoch, and at the end the time by phase and what to try next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/run/run_options.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

// A table after every epoch: samples, loss, milliseconds of a step by phase, memory. For --verbose.
Callback print_replicas();

// Means over the replicas of a run that took `training_seconds` (0: unknown, as with a modelled clock), by phase and between steps.
struct StepTimes {
  std::array<double, kPhases.size()> seconds{};  // of all steps; replicate of the one time it happened
  double between = 0;                            // steps: data, callbacks, progress
  std::int64_t steps = 0;
  std::size_t replicas = 0;

  double of_a_step() const;       // the mean time of a step, with the time between steps
  double share(int phase) const;  // of that time
};
StepTimes step_times(const std::vector<ReplicaReport>& replicas, double training_seconds);

// What phases 1, 4 and 5 did for each replica, counted by the engine.
std::string table_of_work(const std::vector<ReplicaReport>& replicas);
std::string json_of_work(const std::vector<ReplicaReport>& replicas);
std::string table_of_phases(const StepTimes& times);                       // lines of at most 80 columns
std::string json_of_phases(const StepTimes& times);                        // {"replicate": 0.001, ...}: seconds
std::string what_next(const RunOptions& options, const StepTimes& times);  // two or three commands, each with its reason

}  // namespace lockstep::cli
