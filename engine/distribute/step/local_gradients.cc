// Phase 3, local gradients: every replica runs forward and backward on its own samples, its own stream, its own host thread.
//
// This only starts the threads. As soon as the last gradient of a bucket is issued a replica records that bucket's event and reports it;
// phase 4 takes it from there while backward goes on. A replica without samples contributes zeros: the sum stays right.
//
// Moving statistics follow each replica's own samples during forward. Then every replica multiplies its copy by its share of the global
// batch, and phase 4 sums: the weighted mean, the same bits everywhere. A moving update is linear, so this equals keeping the copies
// apart and averaging them when they are read. A replica without samples has weight 0.
#include <algorithm>
#include <optional>

#include "engine/device/range.h"
#include "engine/distribute/buckets/bucket_report.h"
#include "engine/distribute/step/phases.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"

namespace lockstep {
namespace {

// A program notifies the watcher of its layers while this object exists.
class ScopedWatch {
 public:
  ScopedWatch(Program& program, Tracer* tracer, const Stream& stream, const SpanRecord& span) : program_(&program) {
    if (tracer != nullptr) layers_.emplace(*tracer, stream, span);
    program.watch(layers_ ? &*layers_ : nullptr);
  }
  ~ScopedWatch() { program_->watch(nullptr); }
  ScopedWatch(const ScopedWatch&) = delete;
  ScopedWatch& operator=(const ScopedWatch&) = delete;

 private:
  Program* program_;
  std::optional<TracedLayers> layers_;
};

void loss_and_metrics(StepReplica& replica, const StepBatch& batch, const Compiled& compiled, StepTrace& trace) {
  const ReplicaInput& input = replica.input;
  const OpContext context = replica.replica.compute_context();
  const Tensor losses(input.losses.raw(), {input.shard.count});
  compiled.loss->run(context, *input.program, input.label_view, batch.x.samples(), losses, batch.training());
  if (input.weight_view.defined()) {
    const bool from_logits = compiled.loss->from_logits(*input.program);
    const Tensor gradient = from_logits ? input.program->logits_gradient() : input.program->output_gradient();
    ops::weigh_samples(context, input.weight_view, losses, batch.training() ? gradient : Tensor());
  }
  double* sums = replica.replica.sums();
  ops::add_to_sum(context, losses, sums, 0);
  trace.losses(replica, batch);
  if (batch.training()) {
    replica.loss.cleared = false;
    replica.loss.sum.copy_from(sums, *context.stream);
    replica.loss.known.record(*context.stream);
  }
  for (std::size_t m = 0; m < compiled.metrics.size(); ++m) {
    const Tensor weights = m >= compiled.first_weighted ? input.weight_view : Tensor();
    compiled.metrics[m]->add(context, *input.program, input.label_view, weights, sums, static_cast<int>(m) + 1);
  }
}

// One replica, on its own thread.
void forward_and_backward(ReplicaSet& replicas, StepReplica& replica, const StepBatch& batch, const BucketReport& report,
                          const Compiled& compiled, StepTrace& trace) {
  const int r = replica.index();
  const Stream& stream = replica.gpu().compute();
  Tracer* tracer = trace.of(batch);
  const Range range("local gradients", r, static_cast<int>(Phase::local_gradients));
  const SpanRecord span = span_of(replicas, r, Phase::local_gradients, batch.step);
  const DeviceSpan whole(tracer, stream, span);
  const HostSpan issuing(tracer, span.part("issuing"));
  if (!replica.input.program) {
    if (batch.training()) report.no_gradients(replica);
    return;
  }
  Program& program = *replica.input.program;
  const StepInfo info = replicas.info(replica, batch);
  const ScopedWatch watch(program, tracer, stream, span);
  {
    const Range inner("forward");
    const DeviceSpan forward(tracer, stream, span.part("forward"));
    program.forward(info);
  }
  {
    const Range inner("loss and metrics");
    const DeviceSpan loss(tracer, stream, span.part("loss and metrics"));
    loss_and_metrics(replica, batch, compiled, trace);
  }
  if (!batch.training()) return;
  const Range inner("backward");
  const DeviceSpan backward(tracer, stream, span.part("backward"));
  program.backward(info, compiled.loss->from_logits(program), [&](int variable) { report.gradient(replica, variable); });
  report.state(replica, static_cast<double>(replica.input.shard.count) / static_cast<double>(batch.x.samples()));
}

}  // namespace

void local_gradients(ReplicaSet& replicas, const StepBatch& batch, GradientBuckets& buckets, const Compiled& compiled, StepTrace& trace) {
  buckets.board.reset(buckets.messages(), replicas.size());
  // Larger shards come first, so the replicas that have samples are the first ones.
  const auto with_samples = std::count_if(batch.shards.begin(), batch.shards.end(), [](const Shard& shard) { return shard.count > 0; });
  replicas.group.begin(static_cast<int>(with_samples), batch.deadline);
  for (StepReplica& replica : replicas.all) replica.loss.before = replica.loss.cleared ? 0 : replica.loss.sum.value();

  replicas.threads.start([&, report = BucketReport(replicas, buckets, trace, batch)](int r) {
    StepReplica& replica = replicas[static_cast<std::size_t>(r)];
    try {
      forward_and_backward(replicas, replica, batch, report, compiled, trace);
      if (batch.training()) replica.marks.set(PhaseMarks::computed, replica.gpu().compute());
    } catch (...) {  // phase 4 and the others must not wait for this replica
      buckets.board.stop();
      replicas.group.stop();
      throw;
    }
  });
}

}  // namespace lockstep
