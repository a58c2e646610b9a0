#include "engine/distribute/buckets/bucket_report.h"

#include "engine/ops/elementwise.h"
#include "engine/ops/pointwise.h"

namespace lockstep {

void BucketReport::gradient(StepReplica& replica, int variable) const {
  const std::int64_t bucket = buckets_->completed_by(variable);
  if (bucket >= 0) ready(replica, static_cast<std::size_t>(bucket));
}

// Where several batches make an update, the earlier ones' gradients wait in a buffer of their own; the last batch adds them to its own.
void BucketReport::ready(StepReplica& replica, std::size_t bucket) const {
  const OpContext context = replica.replica.compute_context();
  const Bucket& range = (*buckets_)[bucket];
  const Tensor now(replica.replica.variables().gradients().f32() + range.first, {range.count});
  if (batch_->accumulation > 1) {
    const Tensor before(static_cast<float*>(replica.accumulated.raw()) + range.first, {range.count});
    if (batch_->accumulated == 0) {
      ops::copy(context, now, before);
    } else if (!batch_->updates()) {
      ops::add(context, now, before);
    } else {
      ops::add(context, before, now);
      ops::scale_and_shift(context, now, now, 1.0F / static_cast<float>(batch_->accumulation), 0);
    }
  }
  trace_->gradient_norm(replica, bucket, now, StepTrace::Norm::before);
  replica.bucket_ready[bucket].record(*context.stream);
  buckets_->board.arrive(bucket, replica.index());
}

void BucketReport::no_gradients(StepReplica& replica) const {
  VariableStore& variables = replica.replica.variables();
  const OpContext context = replica.replica.compute_context();
  ops::fill(context, 0.0F, variables.gradients());
  for (const int variable : variables.layout().ready_order())
    if (const Tensor squares = variables.squares(variable); squares.defined()) ops::fill(context, 0.0F, squares);
  for (std::size_t bucket = 0; bucket < buckets_->size(); ++bucket) ready(replica, bucket);
  state(replica, 0);
}

void BucketReport::state(StepReplica& replica, double share) const {
  if (!replicas_->averages_state()) return;
  const OpContext context = replica.replica.compute_context();
  const Tensor own = replica.replica.variables().moving();
  ops::scale_and_shift(context, own, own, static_cast<float>(share), 0);
  replica.bucket_ready[buckets_->size()].record(*context.stream);
  buckets_->board.arrive(buckets_->size(), replica.index());
}

}  // namespace lockstep
