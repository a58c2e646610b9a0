// One replica and what a step keeps for it beside the variables: its input, its events, its figures.
#pragma once

#include <vector>

#include "engine/device/staging.h"
#include "engine/distribute/replica/phase_times.h"
#include "engine/distribute/replica/replica.h"
#include "engine/tensor/shard.h"

namespace lockstep {

// What phase 2 puts on the replica's GPU.
struct ReplicaInput {
  explicit ReplicaInput(int device) : staging(device) {}

  PinnedStaging staging;
  Buffer labels;   // (shard, ...)
  Buffer losses;   // (shard)
  Buffer weights;  // (shard), where samples have weights
  Shard shard;
  Program* program = nullptr;  // for this step; null when the shard is empty
  Tensor label_view;           // (shard.count, ...)
  Tensor weight_view;          // (shard.count), not defined where samples have no weights
};

// The running sum of losses, copied to the host as soon as it is known.
struct ReplicaLoss {
  explicit ReplicaLoss(int device) : known(device) {}

  PinnedValue sum;
  Event known;          // behind that copy
  double before = 0;    // when the step began
  bool cleared = true;  // since it was last written

  double of_step() const { return sum.value() - before; }
};

// Of a step that the trace inspects. What is read is on the host after the barrier.
struct ReplicaFigures {
  Buffer norms;                                          // sums of squares, by bucket, before and behind the all-reduce
  std::vector<const double*> norms_before, norms_after;  // by bucket
  const float* losses = nullptr;                         // of the first samples
};

struct StepReplica {
  // `lender`: see Replica.
  StepReplica(int index, LogicalGpu& gpu, const Graph& graph, Replica* lender)
      : replica(index, gpu, graph, lender),
        input(gpu.physical()),
        loss(gpu.physical()),
        finished(gpu.physical()),
        reduced(gpu.physical()),
        updated(gpu.physical()),
        marks(gpu.physical()) {}

  int index() const { return replica.index(); }
  LogicalGpu& gpu() { return replica.gpu(); }

  Replica replica;
  ReplicaInput input;
  ReplicaLoss loss;
  ReplicaFigures figures;
  Buffer accumulated;               // gradients of the batches before this one, where several make an update
  Buffer fingerprints;              // one 64-bit word for each flat buffer, or for each variable
  std::vector<Event> bucket_ready;  // by bucket: its gradients are in place on the compute stream; last, its share of the state is
  Event finished;                   // behind everything this replica issued
  Event reduced;                    // behind its last all-reduce, on the communication stream
  Event updated;                    // behind the update, for those who share the copy
  PhaseMarks marks;                 // where the phases of a training step meet
};

// Grows, never shrinks: after the largest shard was seen a step allocates nothing.
void reserve(StepReplica& replica, Buffer& buffer, std::size_t bytes, const char* what);

}  // namespace lockstep
