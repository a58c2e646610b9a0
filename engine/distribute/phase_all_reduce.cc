// Phase 4, all-reduce: gradients are summed over the replicas bucket by bucket, on communication streams, while backward goes on.
//
// One thread issues for all replicas, so an event is always recorded before somebody waits for it, and collectives are in the same order
// everywhere: no replica can wait for one that takes another path.
#include "lockstep/error.h"
#include "mirrored_step_state.h"

namespace lockstep {

void MirroredStep::all_reduce() {
  State& state = *state_;
  Tracer* tracer = state.step_tracer();
  for (std::size_t b = 0; b < state.buckets.size(); ++b) {
    const Bucket& bucket = state.buckets[b];
    const BucketBoard::Outcome outcome = state.board.wait(b, *state.deadline);
    if (outcome != BucketBoard::Outcome::ready) {
      state.threads.wait(*state.deadline);  // throws the failure that stopped us, or names who is late
      throw Error(state.where(Phase::all_reduce) + ": the gradients of bucket " + std::to_string(b) + " were never ready.");
    }
    std::vector<Participant> participants;
    std::vector<std::unique_ptr<DeviceSpan>> spans;
    for (ReplicaPart& part : state.parts) {
      Stream& stream = part.replica.gpu().communication();
      stream.wait(part.bucket_ready[b]);
      Span span = state.span(Phase::all_reduce, part.replica.index());
      span.communication = true;
      span.name += " bucket " + std::to_string(b);
      spans.push_back(std::make_unique<DeviceSpan>(tracer, stream, std::move(span)));
      const Tensor gradients = part.replica.variables().gradients();
      participants.push_back({&part.replica.gpu(), &stream, Tensor(gradients.f32() + bucket.first, {bucket.count})});
    }
    Traffic traffic;
    try {
      traffic = state.cross_device_ops->all_reduce(participants);
    } catch (const std::exception& error) {
      throw Error(state.where(Phase::all_reduce) + ", bucket " + std::to_string(b) + ": " + error.what());
    }
    for (const auto& span : spans) {
      if (!tracer) break;
      span->details = {{"bucket", std::to_string(b)},
                       {"bytes", std::to_string(bucket.count * static_cast<std::int64_t>(sizeof(float)))},
                       {"algorithm", json_text(state.cross_device_ops->name())},
                       {"messages of all replicas", std::to_string(traffic.messages)},
                       {"bytes of all replicas", std::to_string(traffic.bytes)},
                       {"variables", state.bucket_contents[b]}};
    }
  }
  state.threads.wait(*state.deadline);
}

}  // namespace lockstep
