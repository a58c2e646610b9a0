// The replicas of this process and what connects them: the same from step to step.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/replica/replica_threads.h"
#include "engine/distribute/replica/step_batch.h"
#include "engine/distribute/replica/step_error.h"
#include "engine/distribute/replica/step_replica.h"
#include "engine/distribute/replica/step_replica_group.h"

namespace lockstep {

class ReplicaSet {
 public:
  ReplicaSet(const Graph& graph, const std::vector<LogicalGpu*>& gpus, std::shared_ptr<CrossDeviceOps> ops);

  int size() const { return static_cast<int>(all.size()); }
  StepReplica& operator[](std::size_t index) { return all[index]; }
  WorkerPlace place() const { return ops->place(size()); }
  // Variables that training moves without an optimizer (moving statistics, where they are not frozen) are averaged over replicas, as one
  // more message behind the buckets.
  bool averages_state() const { return place().replicas > 1 && graph.layout().moving_elements() > 0; }
  StepInfo info(const StepReplica& replica, const StepBatch& batch);
  // Sums gradients to the replicas that make the update.
  Traffic sum(const std::vector<Participant>& gradients) { return one_copy ? ops->reduce(gradients) : ops->all_reduce(gradients); }

  // One replica's part of a phase on the calling thread: an Error in there becomes a StepError, as it does on its own thread.
  template <typename Action>
  void serve(std::size_t replica, Phase phase, std::int64_t step, Action&& action) {
    in_phase(phase, step, [&] { on_behalf_of(replica, std::forward<Action>(action)); });
  }
  // One replica after the other, on the calling thread.
  template <typename Action>
  void serve_each(Phase phase, std::int64_t step, Action&& action) {
    for (std::size_t r = 0; r < all.size(); ++r) serve(r, phase, step, [&] { action(all[r]); });
  }

  // Waits for everything the replicas issued so far, on both streams. A StepError names those that are late.
  void wait_for_gpus(Phase phase, const StepBatch& batch);
  void end_times(const StepBatch& batch);  // of the training step that ended: every GPU is done
  // Waits until threads and GPUs have done what was issued: true when they have. `lost` gets the replicas whose GPU reports errors.
  bool wait_until_idle(const Deadline& patience, std::vector<int>* lost = nullptr);

  const Graph graph;
  const std::shared_ptr<CrossDeviceOps> ops;
  const bool one_copy;  // replicas read weights and slots of replica 0, which makes the update
  std::deque<StepReplica> all;
  StepReplicaGroup group;  // for layers that sum over replicas
  PhaseTimes phase_times;
  ReplicaThreads threads;  // last: joined before anything they use goes
};

}  // namespace lockstep
