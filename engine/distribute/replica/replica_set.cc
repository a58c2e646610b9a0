#include "engine/distribute/replica/replica_set.h"

#include <algorithm>

namespace lockstep {
namespace {

std::vector<int> cards_of(const std::vector<LogicalGpu*>& gpus) {
  if (gpus.empty()) throw Error("A step needs at least one GPU.");
  std::vector<int> cards;
  cards.reserve(gpus.size());
  for (const LogicalGpu* gpu : gpus) cards.push_back(gpu->physical());
  return cards;
}

// Replicas that wait for another one in the all-reduce are late as well; the ones to name are the furthest behind.
StepError late(const std::vector<StepReplica*>& replicas, Phase phase, const StepBatch& batch, const WorkerPlace& place, double seconds) {
  const auto reached = [&](const StepReplica& replica) {
    const bool ready = std::all_of(replica.bucket_ready.begin(), replica.bucket_ready.end(), [](const Event& one) { return one.done(); });
    return !ready ? Phase::local_gradients : replica.reduced.done() ? phase : Phase::all_reduce;
  };
  Phase first = phase;
  for (const StepReplica* replica : replicas) first = std::min(first, reached(*replica));
  std::vector<int> behind;
  for (const StepReplica* replica : replicas)
    if (reached(*replica) == first) behind.push_back(replica->index());
  return {behind, first, batch.step,
          "the GPU had not finished after " + std::to_string(seconds) + " seconds (" +
              (place.workers == 1 ? "StepOptions::deadline_seconds)."
                                  : "LOCKSTEP_DEADLINE). It waits for another worker, which does not answer.")};
}

}  // namespace

ReplicaSet::ReplicaSet(const Graph& graph_, const std::vector<LogicalGpu*>& gpus, std::shared_ptr<CrossDeviceOps> ops_)
    : graph(graph_),
      ops(std::move(ops_)),
      one_copy(gpus.size() > 1 && ops->one_copy()),
      group(gpus),
      phase_times(gpus.size()),
      threads(cards_of(gpus)) {
  for (std::size_t r = 0; r < gpus.size(); ++r)
    all.emplace_back(static_cast<int>(r), *gpus[r], graph, one_copy && r > 0 ? &all.front().replica : nullptr);
}

StepInfo ReplicaSet::info(const StepReplica& replica, const StepBatch& batch) {
  StepInfo info{batch.seed, batch.number(), replica.input.shard.first, batch.x.samples()};
  if (batch.training() && size() > 1) {
    info.group = &group;
    info.member = replica.index();
  }
  return info;
}

void ReplicaSet::wait_for_gpus(Phase phase, const StepBatch& batch) {
  serve_each(phase, batch.step, [](StepReplica& replica) {
    replica.reduced.record(replica.gpu().communication());
    replica.gpu().compute().wait(replica.reduced);
    replica.finished.record(replica.gpu().compute());
  });
  std::vector<StepReplica*> not_done;
  serve_each(phase, batch.step, [&](StepReplica& replica) {
    bool done = false;
    while (!(done = wait_until_done(replica.finished, Deadline(0.2))) && !batch.deadline.passed()) ops->check();
    if (!done) not_done.push_back(&replica);
  });
  if (!not_done.empty()) throw late(not_done, phase, batch, place(), batch.deadline.seconds());
  ops->check();
}

// A custom step has no marks of its own.
void ReplicaSet::end_times(const StepBatch& batch) {
  if (batch.custom || !phase_times.under_way()) return;
  std::vector<const PhaseMarks*> marks;
  for (StepReplica& replica : all) {
    marks.push_back(&replica.marks);
    if (replica.input.program)
      phase_times.add_samples(static_cast<std::size_t>(replica.index()), replica.input.shard.count, replica.loss.of_step());
  }
  phase_times.end_step(marks, batch.updates());
}

bool ReplicaSet::wait_until_idle(const Deadline& patience, std::vector<int>* lost) {
  bool idle = threads.drain(patience);
  for (StepReplica& replica : all) {
    for (Stream* stream : {&replica.gpu().compute(), &replica.gpu().communication()}) {
      try {
        replica.finished.record(*stream);
        idle = wait_until_done(replica.finished, patience) && idle;
      } catch (const Error&) {  // nothing to wait for on a GPU that is lost
        if (lost != nullptr && (lost->empty() || lost->back() != replica.index())) lost->push_back(replica.index());
      }
    }
  }
  return idle;
}

void reserve(StepReplica& replica, Buffer& buffer, std::size_t bytes, const char* what) {
  if (buffer.bytes() >= bytes) return;
  LogicalGpu& gpu = replica.gpu();
  gpu.compute().synchronize();  // the smaller one may still be in use
  buffer = Buffer();
  buffer = gpu.arena().allocate(bytes, "replica " + std::to_string(replica.index()) + ": " + what);
}

}  // namespace lockstep
