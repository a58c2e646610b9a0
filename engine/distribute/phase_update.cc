// Phase 5, update: every replica applies the same optimizer to the same sum, so the weights stay equal bit for bit.
#include "mirrored_step_state.h"
#include "range.h"

namespace lockstep {

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
        Span span = state.span(Phase::update, r);
        if (state.tracer) {
          span.details = {{"optimizer", json_text(state.optimizer->name())},
                          {"iteration", std::to_string(state.step())},
                          {"learning rate", std::to_string(state.optimizer->learning_rate(state.step()))}};
        }
        const DeviceSpan device_span(state.step_tracer(), stream, std::move(span));
        state.optimizer->update(part.replica.compute_context(), part.replica.variables(), state.step());
        part.marks.set(PhaseMarks::updated, stream);
      },
      *state.deadline);
}

}  // namespace lockstep
