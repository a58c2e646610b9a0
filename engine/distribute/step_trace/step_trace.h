// What a trace has of a step inside its phases: layers, messages, norms, samples. Without a tracer everything here does nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distribute/replica/replica_set.h"
#include "engine/nn/program.h"
#include "simulator/trace/trace.h"

namespace lockstep {

class StepTrace {
 public:
  explicit StepTrace(Tracer* tracer) : tracer_(tracer) {}

  void set_tracer(Tracer* tracer) { tracer_ = tracer; }
  Tracer* tracer() const { return tracer_; }
  Tracer* of(const StepBatch& batch) const { return batch.training() ? tracer_ : nullptr; }  // only training steps are traced
  bool inspects() const { return inspects_; }  // norms, losses and checksums of the step under way are recorded too

  void begin(ReplicaSet& replicas, const StepBatch& batch, std::size_t buckets);
  // What the shards hold; called while the GPUs work.
  void samples(const ReplicaSet& replicas, const StepBatch& batch);
  void losses(StepReplica& replica, const StepBatch& batch);
  // Of a bucket's gradients: before the all-reduce, on the compute stream; or after it, on the communication stream.
  enum class Norm { before, after };
  void gradient_norm(StepReplica& replica, std::size_t bucket, const Tensor& gradients, Norm when);
  // Everything is done, and nothing of it is overwritten yet: what was copied to the host during the step is read.
  void end(ReplicaSet& replicas, const StepBatch& batch);

 private:
  Tracer* tracer_;
  bool inspects_ = false;
};

SpanRecord span_of(const ReplicaSet& replicas, int replica, Phase phase, std::int64_t step);
inline SpanRecord communication_span(const ReplicaSet& replicas, int replica, Phase phase, std::int64_t step) {
  SpanRecord span = span_of(replicas, replica, phase, step);
  span.communication = true;
  return span;
}

// Layers, or graphs of several, as spans of the replica's compute stream.
class TracedLayers : public LayerWatcher {
 public:
  TracedLayers(Tracer& tracer, const Stream& stream, const SpanRecord& span) : tracer_(&tracer), stream_(&stream), span_(span) {}
  void begin(const LayerWork& work) override;
  void end() override { tracer_->end_device_span(*stream_); }

 private:
  Tracer* tracer_;
  const Stream* stream_;
  SpanRecord span_;
};

// Messages as spans of the receiver's communication stream, with the first elements that the receiver has before and behind each.
class TracedMessages : public MessageWatcher {
 public:
  TracedMessages(Tracer& tracer, const SpanRecord& span, std::size_t bucket, int first_replica, bool partial_sums)
      : tracer_(&tracer), span_(span), bucket_(bucket), first_replica_(first_replica), partial_sums_(partial_sums) {}
  void begin(const Message& message, const Stream& stream, const Tensor& place) override;
  void end(const Message& message, const Stream& stream, const Tensor& place) override;

  static constexpr std::int64_t kShown = 4;  // elements of a partial sum

 private:
  void read(const char* name, const Stream& stream, const Tensor& place);

  Tracer* tracer_;
  SpanRecord span_;
  std::size_t bucket_;
  int first_replica_;
  bool partial_sums_;
};

}  // namespace lockstep
