// Phase 4, all-reduce: gradients are summed over the replicas bucket by bucket, on communication streams, while backward goes on.
//
// One thread issues for all replicas, so an event is always recorded before somebody waits for it, and collectives are in the same order
// everywhere: no replica can wait for one that takes another path. Behind the last bucket comes the state (moving statistics), weighted
// by samples in phase 3.
#include <optional>

#include "engine/device/range.h"
#include "engine/distribute/replica/step_switches.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/distribute/step/step_trace.h"
#include "lockstep/error.h"

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

}  // namespace

// The sums of a sparse gradient, and of its squares where the optimizer wants them, over the rows in use.
Traffic MirroredStep::State::gather_rows(SparseExchange& exchange, int variable, MessageWatcher* watcher) {
  std::vector<Tensor> gradients, squares;
  for (ReplicaPart& part : parts) {
    gradients.push_back(part.replica.variables().gradient(variable));
    if (const Tensor sums = part.replica.variables().squares(variable); sums.defined()) squares.push_back(sums);
  }
  Traffic traffic = exchange.run(gradients, watcher);
  if (!squares.empty()) traffic.add(exchange.run(squares));
  return traffic;
}

void MirroredStep::all_reduce() {
  State& state = *state_;
  const Range range("all-reduce", Range::kNoNumber, static_cast<int>(Phase::all_reduce));
  Tracer* tracer = state.step_tracer();
  state.trace_samples();
  const std::size_t first = state.updates() ? 0 : state.buckets.size();  // gradients that wait for more stay where they are
  const bool overlap = overlap_from_environment();
  const std::size_t end = state.buckets.size() + (state.averages_state() ? 1 : 0);
  for (std::size_t b = first; b < end; ++b) {
    const bool gradients = b < state.buckets.size();
    const std::string what = gradients ? "bucket " + std::to_string(b) : std::string("the state");
    SparseExchange* exchange = gradients && state.gathers(b) ? state.exchanges[b].get() : nullptr;
    const std::size_t awaited = overlap ? b : end - 1;
    const BucketBoard::Outcome outcome = state.board.wait(awaited, *state.deadline);
    if (outcome != BucketBoard::Outcome::ready) {
      state.threads.wait(*state.deadline);  // throws the failure that stopped us, or names who is late
      throw Error(state.where(Phase::all_reduce) + ": " + what + " was never ready.");
    }
    const Range bucket(gradients ? "bucket" : "the state", gradients ? static_cast<std::int64_t>(b) : Range::kNoNumber);
    std::vector<Participant> participants;
    std::vector<std::unique_ptr<DeviceSpan>> spans;
    for (ReplicaPart& part : state.parts) {
      Stream& stream = part.replica.gpu().communication();
      state.serve(static_cast<std::size_t>(part.replica.index()), Phase::all_reduce, [&] { stream.wait(part.bucket_ready[awaited]); });
      if (tracer) {
        SpanRecord span = state.span(Phase::all_reduce, part.replica.index());
        span.communication = true;
        spans.push_back(std::make_unique<DeviceSpan>(tracer, stream, span));
      }
      const VariableStore& variables = part.replica.variables();
      const Tensor summed =
          gradients ? Tensor(variables.gradients().f32() + state.buckets[b].first, {state.buckets[b].count}) : variables.moving();
      participants.push_back({&part.replica.gpu(), &stream, summed});
    }
    Traffic traffic;
    std::optional<TracedMessages> messages;
    if (tracer) messages.emplace(*tracer, state.span(Phase::all_reduce, 0), b, state.place().first_replica, state.inspecting);
    MessageWatcher* watcher = messages ? &*messages : nullptr;
    state.cross_device_ops->watch(watcher);
    const std::unique_ptr<CrossDeviceOps, void (*)(CrossDeviceOps*)> until_the_end(state.cross_device_ops.get(),
                                                                                   [](CrossDeviceOps* ops) { ops->watch(nullptr); });
    try {
      traffic = exchange != nullptr ? state.gather_rows(*exchange, state.buckets[b].sparse, watcher)
                : gradients         ? state.sum(participants)
                                    : state.cross_device_ops->all_reduce(participants);
    } catch (const ReplicaError& error) {
      throw Error("replica " + std::to_string(error.replica) + ", " + state.where(Phase::all_reduce) + ", " + what + ": " + error.what());
    } catch (const std::exception& error) {
      throw Error(state.where(Phase::all_reduce) + ", " + what + ": " + error.what());
    }
    state.phase_times.add_sum(traffic.results);
    traffic.results.resize(state.parts.size());
    for (std::size_t r = 0; r < spans.size(); ++r) {
      const std::int64_t bytes =
          exchange != nullptr ? traffic.bytes / state.replicas() : static_cast<std::int64_t>(participants.front().buffer.bytes());
      const std::string* algorithm = tracer->text(exchange != nullptr ? exchange->name() : state.cross_device_ops->name());
      spans[r]->facts = {explain_bucket,
                         {static_cast<std::int64_t>(b), bytes, Facts::from(algorithm), traffic.messages, traffic.bytes,
                          gradients ? Facts::from(tracer->text(state.bucket_contents[b])) : 0, traffic.results[r]}};
    }
    spans.clear();
    for (ReplicaPart& part : state.parts) {
      const bool has_the_sum = !state.one_copy || part.replica.index() == 0;
      if (state.inspecting && gradients && has_the_sum) state.measure_norm(part, part.replica.gpu().communication(), b, true);
    }
  }
  // Backward made them before it reported the variable, so behind the last bucket's event they are all there.
  for (std::size_t b = 0; b < state.buckets.size(); ++b) {
    const int variable = state.buckets[b].sparse;
    if (variable < 0 || state.gathers(b)) continue;  // gathered with the gradient
    std::vector<Participant> participants;
    for (ReplicaPart& part : state.parts) {
      const Tensor squares = part.replica.variables().squares(variable);
      if (squares.defined())
        participants.push_back({&part.replica.gpu(), &part.replica.gpu().communication(), squares.reshaped({squares.size()})});
    }
    if (!participants.empty()) state.serve(0, Phase::all_reduce, [&] { state.phase_times.add_sum(state.sum(participants).results); });
  }
  state.threads.wait(*state.deadline);
}

}  // namespace lockstep
