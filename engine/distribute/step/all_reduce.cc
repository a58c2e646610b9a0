// Phase 4, all-reduce: gradients are summed over the replicas bucket by bucket, on communication streams, while backward goes on.
//
// One thread issues for all replicas, so an event is always recorded before a stream waits for it, and collectives are in the same order
// everywhere: no replica can wait for one that takes another path. Behind the last bucket comes the state (moving statistics), weighted
// by samples in phase 3.
#include <optional>

#include "engine/device/range.h"
#include "engine/distribute/step/phases.h"

namespace lockstep {
namespace {

void explain_bucket(const Facts::Numbers& numbers, Span& span) {
  const auto& [bucket, bytes, algorithm, messages, all_bytes, variables, here, unused] = numbers;
  span.name += variables != 0 ? " bucket " + std::to_string(bucket) : std::string(" the state");
  span.details = {{"bucket", std::to_string(bucket)},
                  {"bytes", std::to_string(bytes)},
                  {"algorithm", json_text(Facts::text(algorithm))},
                  {"messages of all replicas", std::to_string(messages)},
                  {"bytes of all replicas", std::to_string(all_bytes)},
                  {"bytes of the sum here", std::to_string(here)},
                  {"variables", variables != 0 ? Facts::text(variables) : json_text("moving statistics")}};
}

// The messages of an all-reduce are spans while this object exists.
class ScopedMessages {
 public:
  ScopedMessages(ReplicaSet& replicas, const StepBatch& batch, StepTrace& trace, std::size_t bucket) : ops_(replicas.ops.get()) {
    if (Tracer* tracer = trace.of(batch))
      messages_.emplace(*tracer, span_of(replicas, 0, Phase::all_reduce, batch.step), bucket, replicas.place().first_replica,
                        trace.inspects());
    ops_->watch(watcher());
  }
  ~ScopedMessages() { ops_->watch(nullptr); }
  ScopedMessages(const ScopedMessages&) = delete;
  ScopedMessages& operator=(const ScopedMessages&) = delete;
  MessageWatcher* watcher() { return messages_ ? &*messages_ : nullptr; }

 private:
  CrossDeviceOps* ops_;
  std::optional<TracedMessages> messages_;
};

// The sums of a sparse gradient, and of its squares where the optimizer wants them, over the rows in use.
Traffic gather_rows(ReplicaSet& replicas, SparseExchange& exchange, int variable, MessageWatcher* watcher) {
  std::vector<Tensor> gradients, squares;
  for (StepReplica& replica : replicas.all) {
    gradients.push_back(replica.replica.variables().gradient(variable));
    if (const Tensor sums = replica.replica.variables().squares(variable); sums.defined()) squares.push_back(sums);
  }
  Traffic traffic = exchange.run(gradients, watcher);
  if (!squares.empty()) traffic.add(exchange.run(squares));
  return traffic;
}

// Bucket `b`, or the state behind the last one. Its communication streams wait for the events of bucket `awaited`.
void reduce_bucket(ReplicaSet& replicas, const StepBatch& batch, const GradientBuckets& buckets, StepTrace& trace, std::size_t b,
                   std::size_t awaited) {
  const bool gradients = b < buckets.size();
  const std::string what = gradients ? "bucket " + std::to_string(b) : std::string("the state");
  const Range bucket(gradients ? "bucket" : "the state", gradients ? static_cast<std::int64_t>(b) : Range::kNoNumber);
  Tracer* tracer = trace.of(batch);
  std::vector<Participant> participants;
  std::vector<std::unique_ptr<DeviceSpan>> spans;
  replicas.serve_each(Phase::all_reduce, batch.step, [&](StepReplica& replica) {
    Stream& stream = replica.gpu().communication();
    stream.wait(replica.bucket_ready[awaited]);
    if (tracer)
      spans.push_back(
          std::make_unique<DeviceSpan>(tracer, stream, communication_span(replicas, replica.index(), Phase::all_reduce, batch.step)));
    const VariableStore& variables = replica.replica.variables();
    participants.push_back({&replica.gpu(), &stream,
                            gradients ? Tensor(variables.gradients().f32() + buckets[b].first, {buckets[b].count}) : variables.moving()});
  });
  SparseExchange* exchange = buckets.exchange(b, batch);
  Traffic traffic;
  try {
    ScopedMessages messages(replicas, batch, trace, b);
    traffic = exchange != nullptr ? gather_rows(replicas, *exchange, buckets[b].sparse, messages.watcher())
              : gradients         ? replicas.sum(participants)
                                  : replicas.ops->all_reduce(participants);
  } catch (const ReplicaError& error) {
    throw StepError(error.replicas, Phase::all_reduce, batch.step, what + ": " + error.what());
  } catch (const std::exception& error) {
    throw StepError({}, Phase::all_reduce, batch.step, what + ": " + error.what());
  }
  replicas.phase_times.add_sum(traffic.results);
  traffic.results.resize(replicas.all.size());
  for (std::size_t r = 0; r < spans.size(); ++r) {
    const std::int64_t bytes =
        exchange != nullptr ? traffic.bytes / replicas.size() : static_cast<std::int64_t>(participants[r].buffer.bytes());
    const std::string* algorithm = tracer->text(exchange != nullptr ? exchange->name() : replicas.ops->name());
    spans[r]->facts = {explain_bucket,
                       {static_cast<std::int64_t>(b), bytes, Facts::from(algorithm), traffic.messages, traffic.bytes,
                        gradients ? Facts::from(tracer->text(buckets.contents(b))) : 0, traffic.results[r]}};
  }
  spans.clear();
  for (StepReplica& replica : replicas.all)
    if (gradients && (!replicas.one_copy || replica.index() == 0))
      trace.gradient_norm(replica, b, participants[static_cast<std::size_t>(replica.index())].buffer, StepTrace::Norm::after);
}

// Backward made them before it reported the variable, so behind the last bucket's event they are all there.
void reduce_squares(ReplicaSet& replicas, const StepBatch& batch, const GradientBuckets& buckets) {
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const int variable = buckets[b].sparse;
    if (variable < 0 || buckets.exchange(b, batch) != nullptr) continue;  // gathered with the gradient
    std::vector<Participant> participants;
    for (StepReplica& replica : replicas.all) {
      const Tensor squares = replica.replica.variables().squares(variable);
      if (squares.defined()) participants.push_back({&replica.gpu(), &replica.gpu().communication(), squares.reshaped({squares.size()})});
    }
    if (participants.empty()) continue;
    replicas.serve(0, Phase::all_reduce, batch.step, [&] { replicas.phase_times.add_sum(replicas.sum(participants).results); });
  }
}

}  // namespace

void all_reduce(ReplicaSet& replicas, const StepBatch& batch, GradientBuckets& buckets, StepTrace& trace, bool overlap) {
  const Range range("all-reduce", Range::kNoNumber, static_cast<int>(Phase::all_reduce));
  trace.samples(replicas, batch);
  const auto wait_for_threads = [&] { in_phase(Phase::local_gradients, batch.step, [&] { replicas.threads.wait(batch.deadline); }); };
  // Gradients that wait for those of more batches stay where they are.
  for (std::size_t b = batch.updates() ? 0 : buckets.size(); b < buckets.messages(); ++b) {
    const std::size_t awaited = overlap ? b : buckets.messages() - 1;
    if (buckets.board.wait(awaited, batch.deadline) != Rendezvous::Outcome::complete) {
      wait_for_threads();  // throws the failure that stopped us, or names who is late
      throw StepError({}, Phase::all_reduce, batch.step, "bucket " + std::to_string(b) + " was never ready.");
    }
    reduce_bucket(replicas, batch, buckets, trace, b, awaited);
  }
  reduce_squares(replicas, batch, buckets);
  wait_for_threads();
}

}  // namespace lockstep
