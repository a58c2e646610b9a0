// Phase 6, barrier: the host waits until every replica has finished its update. In the checking mode the replicas' weights, slots and
// state are fingerprinted on their GPUs and compared: the first variable that differs is named.
#include "engine/device/range.h"
#include "engine/distribute/checks/flip_bit.h"
#include "engine/distribute/checks/mirrored.h"
#include "engine/distribute/step/phases.h"

namespace lockstep {
namespace {

void explain_barrier(const Facts::Numbers& numbers, Span& span) {
  const std::int64_t used = numbers[0], peak = numbers[1], limit = numbers[2], compared = numbers[3], inspected = numbers[5];
  span.details = {{"memory used", std::to_string(used)}, {"memory peak", std::to_string(peak)}, {"memory limit", std::to_string(limit)}};
  if (compared != 0) span.details.emplace_back("checksum", json_text(hexadecimal(static_cast<std::uint64_t>(numbers[4]))));
  if (inspected != 0) span.details.emplace_back("inspected", "true");
}

}  // namespace

void barrier(ReplicaSet& replicas, const StepBatch& batch, StepTrace& trace, const StepOptions& options) {
  const Range range("barrier", Range::kNoNumber, static_cast<int>(Phase::barrier));
  replicas.wait_for_gpus(Phase::barrier, batch);
  if (options.flipped_bit) flip_bit(replicas, *options.flipped_bit, batch.step);
  Tracer* tracer = trace.tracer();
  const std::int64_t arrived_ns = tracer != nullptr ? tracer->now_ns() : 0;
  replicas.end_times(batch);
  std::vector<std::uint64_t> words;
  if (options.check_mirrored) words.assign(replicas.one_copy ? 1 : replicas.all.size(), require_mirrored(replicas, Phase::barrier, batch));
  if (tracer == nullptr) return;
  trace.end(replicas, batch);
  if (trace.inspects() && words.empty()) words = checksums(replicas, Phase::barrier, batch);
  std::vector<Tracer::Barrier> barriers;
  for (StepReplica& replica : replicas.all) {
    const auto r = static_cast<std::size_t>(replica.index());
    const bool compared = r < words.size();
    const Arena& arena = replica.gpu().arena();
    SpanRecord span = span_of(replicas, replica.index(), Phase::barrier, batch.step);
    span.facts = {
        explain_barrier,
        {static_cast<std::int64_t>(arena.used()), static_cast<std::int64_t>(arena.peak()), static_cast<std::int64_t>(arena.limit()),
         compared, compared ? static_cast<std::int64_t>(words[r]) : 0, trace.inspects()}};
    barriers.push_back({span, compared});
  }
  tracer->end_step(arrived_ns, barriers);
}

}  // namespace lockstep
