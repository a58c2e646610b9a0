// What a replica's backward reports while it runs: buckets whose gradients were issued, so that the all-reduce begins before backward ends.
#pragma once

#include "engine/distribute/buckets/gradient_buckets.h"
#include "engine/distribute/step_trace/step_trace.h"

namespace lockstep {

class BucketReport {
 public:
  BucketReport(ReplicaSet& replicas, GradientBuckets& buckets, StepTrace& trace, const StepBatch& batch)
      : replicas_(&replicas), buckets_(&buckets), trace_(&trace), batch_(&batch) {}

  // This variable's gradient was issued. With it a bucket may be complete: then its event is recorded, and the bucket reported.
  void gradient(StepReplica& replica, int variable) const;
  // The replica has no samples: zeros for all gradients, and weight 0 for its state.
  void no_gradients(StepReplica& replica) const;
  // Multiplies the replica's moving statistics by its share of the global batch, so that the all-reduce gives their weighted mean.
  void state(StepReplica& replica, double share) const;

 private:
  void ready(StepReplica& replica, std::size_t bucket) const;

  ReplicaSet* replicas_;
  GradientBuckets* buckets_;
  StepTrace* trace_;
  const StepBatch* batch_;
};

}  // namespace lockstep
