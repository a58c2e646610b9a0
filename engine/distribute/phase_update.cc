// Phase 5, update: every replica applies the same optimizer to the same sum, so the weights stay equal bit for bit.
#include "mirrored_step_state.h"
#include "range.h"

namespace lockstep {
namespace {

void explain_update(const Facts::Numbers& numbers, Span& span) {
  span.details = {{"optimizer", json_text(Facts::text(numbers[0]))},
                  {"iteration", std::to_string(numbers[1])},
                  {"learning rate", std::to_string(Facts::real(numbers[2]))}};
}

}  // namespace

void MirroredStep::update() {
  State& state = *state_;
  state.threads.run(
      state.where(Phase::update),
      [&state](int r) {
        ReplicaPart& part = state.parts[static_cast<std::size_t>(r)];
        Stream& stream = part.replica.gpu().compute();
        part.reduced.record(part.replica.gpu().communication());
        stream.wait(part.reduced);
        const Range range("update", r, static_cast<int>(Phase::update));
        part.marks.set(PhaseMarks::summed, stream);
        SpanRecord span = state.span(Phase::update, r);
        if (state.tracer) {
          span.facts = {explain_update,
                        {Facts::from(state.tracer->text(state.optimizer->name())), state.step(),
                         Facts::from(static_cast<double>(state.optimizer->learning_rate(state.step())))}};
        }
        const DeviceSpan device_span(state.step_tracer(), stream, span);
        state.optimizer->update(part.replica.compute_context(), part.replica.variables(), state.step());
        part.marks.set(PhaseMarks::updated, stream);
      },
      *state.deadline);
}

}  // namespace lockstep
