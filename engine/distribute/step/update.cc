// Phase 5, update: every replica applies the same optimizer to the same sum, so the weights stay equal bit for bit. Where replicas share
// one copy replica 0 updates it and the others wait: one thread issues that, without waking the replicas' own.
#include "engine/device/range.h"
#include "engine/distribute/step/phases.h"

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

void update_replica(ReplicaSet& replicas, StepReplica& replica, std::int64_t step, OptimizerImpl& optimizer, Tracer* tracer) {
  const int r = replica.index();
  Stream& stream = replica.gpu().compute();
  replica.reduced.record(replica.gpu().communication());
  stream.wait(replica.reduced);
  const Range range("update", r, static_cast<int>(Phase::update));
  replica.marks.set(PhaseMarks::summed, stream);
  SpanRecord record = span_of(replicas, r, Phase::update, step);
  const bool waits = replicas.one_copy && r > 0;
  if (tracer && waits) {
    record.facts.explain = explain_waiting;
  } else if (tracer) {
    record.facts = {explain_update,
                    {Facts::from(tracer->text(optimizer.name())), step, Facts::from(static_cast<double>(optimizer.learning_rate(step)))}};
  }
  const DeviceSpan span(tracer, stream, record);
  if (waits) {
    stream.wait(replicas.all.front().updated);
  } else {
    optimizer.update(replica.replica.compute_context(), replica.replica.variables(), step);
    replicas.phase_times.add_update(static_cast<std::size_t>(r));
  }
  replica.marks.set(PhaseMarks::updated, stream);
}

}  // namespace

void update(ReplicaSet& replicas, const StepBatch& batch, OptimizerImpl& optimizer, Tracer* tracer) {
  const auto update_one = [&](StepReplica& replica) { update_replica(replicas, replica, batch.step, optimizer, tracer); };
  if (!replicas.one_copy) {
    in_phase(Phase::update, batch.step,
             [&] { replicas.threads.run([&](int r) { update_one(replicas[static_cast<std::size_t>(r)]); }, batch.deadline); });
    return;
  }
  // No replica reads the copy any more when replica 0 writes it: its sum waited for every replica's last bucket, behind which none reads
  // weights. And none reads it again before the update is done.
  replicas.serve_each(Phase::update, batch.step, [&](StepReplica& replica) {
    update_one(replica);
    if (replica.index() == 0) replica.updated.record(replica.gpu().compute());
  });
}

}  // namespace lockstep
