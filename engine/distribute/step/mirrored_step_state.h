// What the six phases of a step share. Only the phase_*.cc files and mirrored_step.cc look in here.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "engine/device/staging.h"
#include "engine/distribute/replica/phase_times.h"
#include "engine/distribute/replica/replica_threads.h"
#include "engine/distribute/replica/step_replica_group.h"
#include "engine/distribute/step/mirrored_step.h"

namespace lockstep {

// One replica and what the step keeps for it beside the variables.
struct ReplicaPart {
  ReplicaPart(int index, LogicalGpu& gpu, const Graph& graph, Replica* lender)
      : replica(index, gpu, graph, lender),
        staging(gpu.physical()),
        finished(gpu.physical()),
        reduced(gpu.physical()),
        updated(gpu.physical()),
        loss_known(gpu.physical()),
        marks(gpu.physical()) {}

  Replica replica;
  PinnedStaging staging;
  Buffer labels;         // (shard, ...)
  Buffer losses;         // (shard)
  Buffer weights;        // (shard), where samples have weights
  PinnedValue loss_sum;  // the running sum of losses, behind this step's: copied to the host as soon as it is known
  Buffer accumulated;    // gradients of the batches before this one, where several make an update
  StepInfo by_hand;      // of a forward pass that a custom loop made
  enum class Done { nothing, forward, backward };
  Done done_by_hand = Done::nothing;
  Buffer fingerprints;              // one 64-bit word for each flat buffer, or for each variable
  std::vector<Event> bucket_ready;  // by bucket: its gradients are in place on the compute stream; last, its share of the state is
  Event finished;                   // behind everything this replica issued
  Event reduced;                    // behind its last all-reduce, on the communication stream
  Event updated;                    // behind the update, for those who share the copy
  Event loss_known;                 // behind that copy
  PhaseMarks marks;                 // where the phases of a training step meet
  Shard shard;
  Program* program = nullptr;  // for this step; null when the shard is empty
  Tensor label_view;           // (shard.count, ...)
  Tensor weight_view;          // (shard.count), not defined where samples have no weights
  double loss_before = 0;      // the running sum of losses when the step began

  // For the trace, of a step that is looked into. What is read comes to the host on its own; it is there after the barrier.
  Buffer norms;                                          // sums of squares, by bucket, before and behind the all-reduce
  std::vector<const double*> norms_before, norms_after;  // by bucket
  const float* losses_read = nullptr;                    // of the first samples
  bool sums_cleared = true;                              // since loss_sum was last written
};

// Grows, never shrinks: after the largest shard was seen a step allocates nothing.
void reserve(ReplicaPart& part, Buffer& buffer, std::size_t bytes, const char* what);

// A fingerprint of one flat buffer of a replica.
struct Fingerprint {
  std::string what;  // "weights", "slot 0", "state"
  std::uint64_t bits = 0;
};

struct MirroredStep::State {
  State(const Graph& graph, std::vector<LogicalGpu*> gpus, std::shared_ptr<CrossDeviceOps> cross_device_ops, StepOptions options,
        Tracer* tracer);

  const Graph graph;
  const std::vector<LogicalGpu*> gpus;
  const std::shared_ptr<CrossDeviceOps> cross_device_ops;
  StepOptions options;
  Tracer* tracer;
  const bool one_copy;  // replicas read weights and slots of replica 0, which makes the update

  std::shared_ptr<LossImpl> loss;
  std::shared_ptr<OptimizerImpl> optimizer;
  std::vector<std::shared_ptr<MetricImpl>> metrics;
  std::size_t first_weighted = 0;  // metrics from here on see the samples' weights

  std::vector<Bucket> buckets;
  std::vector<std::string> bucket_contents;                // names of variables as a JSON list, for the trace
  std::vector<std::unique_ptr<SparseExchange>> exchanges;  // by bucket; null where it is not sparse, or its rows are not in x
  std::vector<std::int64_t> last_variable;                 // by variable: the bucket it is the last of, else -1
  std::vector<bool> segment_ends;                          // by variable: others wait for its bucket, so no graph goes beyond it
  bool mirrored = false;                                   // phase 1 has been done
  std::int64_t iterations = 0;
  std::int64_t samples = 0;  // since the last clear
  double weight_sum = 0;     // of those samples
  int accumulated = 0;       // batches whose gradients wait for their update
  bool hand_failed = false;  // in the step under way; the next forward of a replica that was part of it begins anew
  bool by_hand = false;      // a custom loop's replicas bring their own samples
  std::mutex hand;           // guards the beginning of such a step

  // The step under way. Arrays are kept (they share their elements) as long as a replica's thread may read them.
  Mode mode = Mode::training;
  Array x, y, weights;
  std::vector<Shard> shards;
  std::optional<Deadline> deadline;
  BucketBoard board;
  StepReplicaGroup group;   // for layers that sum over replicas
  bool inspecting = false;  // the step under way is traced, and closely
  bool updating = false;    // some replicas may have the new weights and others not
  std::string broken;       // why nothing more can be done, once a replica did not come back
  bool unanswered = false;  // a GPU had not finished when it was last waited for at the end: it is not waited for again

  PhaseTimes phase_times;

  std::deque<ReplicaPart> parts;
  ReplicaThreads threads;  // last: joined before anything they use goes

  int replicas() const { return static_cast<int>(parts.size()); }
  Traffic sum(const std::vector<Participant>& gradients) {  // to whoever makes the update
    return one_copy ? cross_device_ops->reduce(gradients) : cross_device_ops->all_reduce(gradients);
  }
  void flip_bit();              // where a test asked for it, see lockstep/flipped_bit.h
  void require_copies() const;  // an Error where replicas share one: nothing to compare
  void update_replica(int replica);
  void update_the_copy();
  WorkerPlace place() const { return cross_device_ops->place(replicas()); }
  // Variables that training moves without an optimizer (moving statistics, where they are not frozen) are averaged over replicas, as one
  // more message behind the buckets.
  bool averages_state() const { return place().replicas > 1 && graph.layout().moving_elements() > 0; }
  int accumulation() const { return optimizer ? optimizer->accumulation_steps() : 1; }
  bool updates() const { return accumulated + 1 == accumulation(); }  // the batch under way completes an update
  // Rows in use are known where they are this batch's and nothing else's.
  bool gathers(std::size_t bucket) const { return exchanges[bucket] && accumulation() == 1 && !by_hand && exchanges[bucket]->gathers(); }
  // For random layers: counts batches, not updates.
  std::uint64_t batch_number() const {
    return static_cast<std::uint64_t>(iterations) * static_cast<std::uint64_t>(accumulation()) + static_cast<std::uint64_t>(accumulated);
  }
  std::int64_t step() const { return iterations + 1; }  // the one under way, counted from 1 as the optimizer does
  std::string where(Phase phase) const { return "phase " + std::string(to_string(phase)) + ", step " + std::to_string(step()); }
  Tracer* step_tracer() const { return mode == Mode::training ? tracer : nullptr; }
  SpanRecord span(Phase phase, int replica) const;
  StepInfo info(const ReplicaPart& part);

  // Does one replica's part of a phase on the calling thread: an Error in there names replica, phase and step, as those of its own thread
  // do.
  template <typename Action>
  void serve(std::size_t replica, Phase phase, Action&& action) const {
    try {
      on_behalf_of(replica, std::forward<Action>(action));
    } catch (const ReplicaError& error) {
      throw Error("replica " + std::to_string(error.replica) + ", " + where(phase) + ": " + error.what());
    }
  }

  bool comes_to_rest(const Deadline& patience);  // threads and GPUs have done all they were asked to, or are lost

  // Runs `body`; when it throws, lets replicas and GPUs come to rest first. A late one leaves the step broken.
  void guarded(const std::function<void()>& body);
  void begin(Mode mode, const Array& x, const Array& y, const Array& weights);
  void count_samples();  // of the step that ended
  void count_times();    // of the step that ended, by replica: every GPU is done
  // Why this replica's loss is not finite: its samples, a variable, or the first layer whose output is not.
  std::string why_not_finite(ReplicaPart& part);
  // What a replica's backward reports: this bucket's gradients were issued (with those that waited for them); it has none; its share of
  // the state, for the weighted mean, was issued.
  void bucket_ready(ReplicaPart& part, std::size_t bucket);
  void no_gradients(ReplicaPart& part);
  void weigh_state(ReplicaPart& part, double weight);
  Traffic gather_rows(SparseExchange& exchange, int variable, MessageWatcher* watcher);
  // See step_trace.cc.
  static constexpr std::int64_t kLossesShown = 64;
  void begin_trace();
  void trace_samples();
  void trace_figures_of_step();
  void measure_norm(ReplicaPart& part, const Stream& stream, std::size_t bucket, bool after);
  // Waits for everything the replicas issued so far, on both streams.
  void wait_for_gpus(Phase phase);
  std::string who_is_late(const std::vector<const ReplicaPart*>& late, Phase phase) const;
  // Lets everybody know that some replica of the step under way will never come.
  void give_up() {
    board.stop();
    group.stop();
  }

  std::vector<std::vector<Fingerprint>> fingerprints(Phase phase);  // by copy
  // The fingerprint all replicas share; an Error that names variable, replica and step when they don't.
  std::uint64_t require_mirrored(Phase phase);
};

}  // namespace lockstep
