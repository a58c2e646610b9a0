// Phase 1, replicate: variables, optimizer slots and state of replica 0 are copied to every other replica, bit for bit.
//
// It runs before the first use of a model, and again after its weights were set; from then on the replicas stay equal because they apply
// the same update to the same sum. Where they share one copy there is only their state to copy. (A trained step marks the phase in the
// trace all the same: the copies are there, nothing moves.)
#include <backend/host_clock.h>
#include "engine/device/range.h"
#include "engine/distribute/step/phases.h"

namespace lockstep {
namespace {

void explain_traffic(const Facts::Numbers& numbers, Span& span) {
  const std::int64_t messages = numbers[0], all_bytes = numbers[1], bytes = numbers[2], shared = numbers[3];
  span.details = {{"bytes", std::to_string(bytes)},
                  {"messages of all replicas", std::to_string(messages)},
                  {"bytes of all replicas", std::to_string(all_bytes)}};
  if (shared != 0)
    span.details.emplace_back("note", json_text("the replicas share replica 0's weights and slots: only the state is copied"));
}

std::vector<Tensor> mirrored_buffers(const VariableStore& variables, bool one_copy) {
  std::vector<Tensor> buffers;
  if (!one_copy) {
    buffers.push_back(variables.weights());
    for (int k = 0; k < variables.slots(); ++k) buffers.push_back(variables.slot(k));
  }
  if (variables.state().defined()) buffers.push_back(variables.state());
  return buffers;
}

}  // namespace

void replicate(ReplicaSet& replicas, const StepBatch& batch, Tracer* tracer) {
  const Range range("replicate", Range::kNoNumber, static_cast<int>(Phase::replicate));
  const std::int64_t began = host_clock_ns();
  std::vector<std::vector<Tensor>> buffers;  // by replica
  std::vector<std::unique_ptr<DeviceSpan>> spans;
  replicas.serve_each(Phase::replicate, batch.step, [&](StepReplica& replica) {
    Stream& stream = replica.gpu().communication();
    replica.finished.record(replica.gpu().compute());  // initial values were written there
    stream.wait(replica.finished);
    buffers.push_back(mirrored_buffers(replica.replica.variables(), replicas.one_copy));
    spans.push_back(
        std::make_unique<DeviceSpan>(tracer, stream, communication_span(replicas, replica.index(), Phase::replicate, batch.step)));
  });
  Traffic traffic;
  for (std::size_t b = 0; b < buffers.front().size(); ++b) {
    std::vector<Participant> participants;
    for (StepReplica& replica : replicas.all)
      participants.push_back({&replica.gpu(), &replica.gpu().communication(), buffers[static_cast<std::size_t>(replica.index())][b]});
    replicas.serve(0, Phase::replicate, batch.step, [&] { traffic.add(replicas.ops->broadcast(participants)); });
  }
  traffic.results.resize(replicas.all.size());
  for (std::size_t r = 0; r < spans.size(); ++r)
    spans[r]->facts = {explain_traffic, {traffic.messages, traffic.bytes, traffic.results[r], replicas.one_copy}};
  spans.clear();
  replicas.wait_for_gpus(Phase::replicate, batch);
  replicas.phase_times.add_replicate(static_cast<double>(host_clock_ns() - began) * 1e-9, traffic.results);
}

}  // namespace lockstep
