// Phase 1, replicate: variables, optimizer slots and state of replica 0 are copied to every other replica, bit for bit.
//
// It runs before the first use of a model, and again after its weights were set; from then on the replicas stay equal because they apply
// the same update to the same sum. Where they share one copy there is only their state to copy. (A trained step marks the phase in the
// trace all the same: the copies are there, nothing moves.)
#include <backend/host_clock.h>
#include "engine/device/range.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void explain_traffic(const Facts::Numbers& numbers, Span& span) {
  const auto& [messages, all_bytes, bytes, shared, one, two, three, four] = numbers;
  span.details = {{"bytes", std::to_string(bytes)},
                  {"messages of all replicas", std::to_string(messages)},
                  {"bytes of all replicas", std::to_string(all_bytes)}};
  if (shared != 0)
    span.details.emplace_back("note", json_text("the replicas share replica 0's weights and slots: only the state is copied"));
}

}  // namespace

// All workers take part in a copy, and the next use may be a prediction that one of them makes by itself.
void MirroredStep::variables_changed() {
  state_->mirrored = false;
  if (state_->place().workers > 1) replicate();
}

void MirroredStep::replicate_where_due() {
  if (!state_->mirrored) replicate();
}

void MirroredStep::replicate() {
  State& state = *state_;
  state.guarded([&] {
    const Range range("replicate", Range::kNoNumber, static_cast<int>(Phase::replicate));
    const std::int64_t began = host_clock_ns();
    const VariableStore& first = state.parts.front().replica.variables();
    std::vector<std::function<Tensor(const VariableStore&)>> buffers;
    if (!state.one_copy) {
      buffers.emplace_back([](const VariableStore& store) { return store.weights(); });
      for (int k = 0; k < first.slots(); ++k) buffers.emplace_back([k](const VariableStore& store) { return store.slot(k); });
    }
    if (first.state().defined()) buffers.emplace_back([](const VariableStore& store) { return store.state(); });

    std::vector<std::unique_ptr<DeviceSpan>> spans;
    for (ReplicaPart& part : state.parts) {
      Stream& stream = part.replica.gpu().communication();
      state.serve(static_cast<std::size_t>(part.replica.index()), Phase::replicate, [&] {
        part.finished.record(part.replica.gpu().compute());  // initial values were written there
        stream.wait(part.finished);
      });
      SpanRecord span = state.span(Phase::replicate, part.replica.index());
      span.communication = true;
      spans.push_back(std::make_unique<DeviceSpan>(state.tracer, stream, span));
    }
    Traffic traffic;
    for (const auto& buffer : buffers) {
      std::vector<Participant> participants;
      for (ReplicaPart& part : state.parts) {
        participants.push_back({&part.replica.gpu(), &part.replica.gpu().communication(), buffer(part.replica.variables())});
      }
      Traffic sent;
      state.serve(0, Phase::replicate, [&] { sent = state.cross_device_ops->broadcast(participants); });
      traffic.add(sent);
    }
    traffic.results.resize(state.parts.size());
    for (std::size_t r = 0; r < spans.size(); ++r)
      spans[r]->facts = {explain_traffic, {traffic.messages, traffic.bytes, traffic.results[r], state.one_copy}};
    spans.clear();
    state.wait_for_gpus(Phase::replicate);
    state.phase_times.add_replicate(static_cast<double>(host_clock_ns() - began) * 1e-9, traffic.results);
    if (state.options.check_mirrored) state.require_mirrored(Phase::replicate);
    state.mirrored = true;
  });
}

}  // namespace lockstep
