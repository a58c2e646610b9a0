// What a program asks of a step between batches: totals, checksums, times; and what workers agree on.
#include <algorithm>
#include <bit>

#include <backend/watching.h>
#include "engine/distribute/checks/mirrored.h"
#include "engine/distribute/step/step_state.h"

namespace lockstep {

int MirroredStep::replicas() const { return state_->replicas.size(); }
Replica& MirroredStep::replica(int index) { return state_->replicas.all.at(static_cast<std::size_t>(index)).replica; }
std::vector<ReplicaTimes> MirroredStep::times() const { return state_->replicas.phase_times.replicas(); }
void MirroredStep::set_tracer(Tracer* tracer) { state_->trace.set_tracer(tracer); }
bool MirroredStep::one_copy() const { return state_->replicas.one_copy; }
void MirroredStep::set_seed(std::uint64_t seed) { state_->options.seed = seed; }
std::int64_t MirroredStep::iterations() const { return state_->batch.step - 1; }
void MirroredStep::set_iterations(std::int64_t iterations) { state_->batch.step = iterations + 1; }

Array MirroredStep::read(int variable, VariablePart part) { return replica(0).variables().read(variable, part); }
void MirroredStep::write(int variable, const Array& values, VariablePart part) { replica(0).variables().write(variable, values, part); }

std::vector<ReplicaReport> MirroredStep::reports() {
  std::vector<ReplicaReport> reports;
  for (StepReplica& replica : state_->replicas.all) {
    const ReplicaTimes& times = state_->replicas.phase_times.replicas()[static_cast<std::size_t>(replica.index())];
    const Arena& arena = replica.gpu().arena();
    reports.push_back({state_->replicas.place().first_replica + replica.index(), replica.gpu().name(), times.steps, times.samples,
                       times.loss_sum, times.seconds, times.replications, times.replicated_bytes, times.summed_bytes, times.updates,
                       arena.used(), arena.peak(), arena.limit()});
  }
  return reports;
}

void MirroredStep::set_check_mirrored(bool yes) {
  if (yes) require_copies(state_->replicas);
  state_->options.check_mirrored = yes;
}

// One row of words for each replica here; those of all workers' replicas.
std::vector<std::uint64_t> MirroredStep::gather(const std::vector<std::uint64_t>& rows, std::size_t width) {
  return state_->replicas.ops->gather(rows, width, state_->batch.deadline);
}

bool MirroredStep::any_worker(bool yes) {
  if (state_->replicas.place().workers == 1) return yes;
  std::vector<std::uint64_t> all;
  state_->guarded([&] { all = gather(std::vector<std::uint64_t>(state_->replicas.all.size(), yes), 1); });
  return std::any_of(all.begin(), all.end(), [](std::uint64_t one) { return one != 0; });
}

bool MirroredStep::workers_agree(std::uint64_t value) {
  if (state_->replicas.place().workers == 1) return true;
  std::vector<std::uint64_t> all;
  state_->guarded([&] { all = gather(std::vector<std::uint64_t>(state_->replicas.all.size(), value), 1); });
  return std::all_of(all.begin(), all.end(), [&](std::uint64_t one) { return one == value; });
}

MirroredStep::Totals MirroredStep::totals(bool all_workers) {
  State& state = *state_;
  const std::size_t width = 1 + state.compiled.metrics.size();
  Totals totals = state.totals;
  totals.sums.assign(width, 0.0);
  const Watching watching;
  state.guarded([&] {
    state.replicas.wait_for_gpus(Phase::barrier, state.batch);
    std::vector<std::uint64_t> rows;  // of doubles; added in the order of the replicas, whichever worker they belong to
    for (StepReplica& replica : state.replicas.all) {
      std::array<double, Replica::kSums> sums{};
      replica.replica.read_sums(sums.data());
      for (std::size_t i = 0; i < width; ++i) rows.push_back(std::bit_cast<std::uint64_t>(sums[i]));
    }
    if (all_workers) {
      rows = gather(rows, width);
    } else {
      totals.samples = totals.samples * state.replicas.size() / state.replicas.place().replicas;
      totals.weights = totals.weights * state.replicas.size() / state.replicas.place().replicas;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) totals.sums[i % width] += std::bit_cast<double>(rows[i]);
  });
  return totals;
}

void MirroredStep::clear_totals() {
  for (StepReplica& replica : state_->replicas.all) {
    replica.replica.clear_sums();
    replica.loss.cleared = true;
  }
  state_->totals = {};
}

void MirroredStep::State::count_samples() {
  totals.samples += batch.x.samples();
  if (batch.weights.empty()) {
    totals.weights += static_cast<double>(batch.x.samples());
    return;
  }
  for (std::int64_t i = 0; i < batch.weights.size(); ++i) totals.weights += static_cast<double>(batch.weights.data<float>()[i]);
}

std::vector<std::uint64_t> MirroredStep::checksums() {
  std::vector<std::uint64_t> words;
  const Watching watching;
  state_->guarded([&] {
    state_->replicas.wait_for_gpus(Phase::barrier, state_->batch);
    words = gather(lockstep::checksums(state_->replicas, Phase::barrier, state_->batch), 1);
  });
  return words;
}

}  // namespace lockstep
