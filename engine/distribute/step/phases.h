// The six phases of a mirrored step, each a function in the file of its name. Each takes only what it uses:
//
//   ReplicaSet       the replicas: GPUs, variables, host threads, and the algorithm that connects them
//   StepBatch        the samples, how they are cut, the step's number, the deadline
//   GradientBuckets  which gradients travel together, and which of them are ready
//   Compiled         loss, optimizer, metrics
//   StepTrace        what a trace records; empty without one
#pragma once

#include "engine/distribute/buckets/gradient_buckets.h"
#include "engine/distribute/replica/compiled.h"
#include "engine/distribute/replica/replica_set.h"
#include "engine/distribute/step_trace/step_trace.h"

namespace lockstep {

// 1. Replica 0's variables and slots are copied to all others, bit for bit.
void replicate(ReplicaSet& replicas, const StepBatch& batch, Tracer* tracer);
// 2. The batch is cut, and every replica uploads its own samples.
void shard(ReplicaSet& replicas, StepBatch& batch, GradientBuckets& buckets, const StepTrace& trace, bool graphs);
// 3. Starts forward and backward on every replica's host thread; returns while they run. In inference: forward, loss and metrics.
void local_gradients(ReplicaSet& replicas, const StepBatch& batch, GradientBuckets& buckets, const Compiled& compiled, StepTrace& trace);
// 4. Sums the gradients bucket by bucket while backward runs. Without overlap the sums wait for its end.
void all_reduce(ReplicaSet& replicas, const StepBatch& batch, GradientBuckets& buckets, StepTrace& trace, bool overlap);
// 5. Every replica applies the optimizer to its copy.
void update(ReplicaSet& replicas, const StepBatch& batch, OptimizerImpl& optimizer, Tracer* tracer);
// 6. The host waits until every replica has finished. `check`: then compares the copies.
void barrier(ReplicaSet& replicas, const StepBatch& batch, StepTrace& trace, const StepOptions& options);

}  // namespace lockstep
