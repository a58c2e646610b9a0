// Phase 5, update: every replica applies the same optimizer to the same sum, so the weights stay equal bit for bit. Where replicas share
// one copy replica 0 updates it and the others wait: one thread issues that, without waking the replicas' own.
#include "engine/device/range.h"
#include "engine/distribute/step/mirrored_step_state.h"

namespace lockstep {
namespace {

void explain_update(const Facts::Numbers& numbers, Span& span) {
  span.details = {{"updates", "true"},
                  {"optimizer", json_text(Facts::text(numbers[0]))},
                  {"iteration", std::to_string(numbers[1])},
                  {"learning rate", std::to_string(Facts::real(numbers[2]))}};
}

void explain_waiting(const Facts::Numbers& /*numbers*/, Span& span) {
  span.details = {{"updates", "false"}, {"note", json_text("waits for replica 0, which updates the variables that all share")}};
}

}  // namespace

void MirroredStep::State::update_replica(int r) {
  ReplicaPart& part = parts[static_cast<std::size_t>(r)];
  Stream& stream = part.replica.gpu().compute();
  part.reduced.record(part.replica.gpu().communication());
  stream.wait(part.reduced);
  const Range range("update", r, static_cast<int>(Phase::update));
  part.marks.set(PhaseMarks::summed, stream);
  SpanRecord record = span(Phase::update, r);
  const bool waits = one_copy && r > 0;
  if (tracer && waits) {
    record.facts.explain = explain_waiting;
  } else if (tracer) {
    record.facts = {
        explain_update,
        {Facts::from(tracer->text(optimizer->name())), step(), Facts::from(static_cast<double>(optimizer->learning_rate(step())))}};
  }
  const DeviceSpan device_span(step_tracer(), stream, record);
  if (waits) {
    stream.wait(parts.front().updated);
  } else {
    optimizer->update(part.replica.compute_context(), part.replica.variables(), step());
    phase_times.add_update(static_cast<std::size_t>(r));
  }
  part.marks.set(PhaseMarks::updated, stream);
}

// Nobody reads it any more when replica 0 writes it: its sum waited for everybody's last bucket, behind which no replica reads weights. And
// nobody reads it again before that is done.
void MirroredStep::State::update_the_copy() {
  ReplicaPart& first = parts.front();
  for (int r = 0; r < replicas(); ++r) {
    serve(static_cast<std::size_t>(r), Phase::update, [&] { update_replica(r); });
    if (r == 0) serve(0, Phase::update, [&] { first.updated.record(first.replica.gpu().compute()); });
  }
}

void MirroredStep::update() {
  State& state = *state_;
  if (state.one_copy) return state.update_the_copy();
  state.threads.run(
      state.where(Phase::update), [&state](int r) { state.update_replica(r); }, *state.deadline);
}

}  // namespace lockstep
