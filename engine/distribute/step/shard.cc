// Phase 2, shard: the global batch is cut into contiguous runs of samples, and every replica takes its own to its GPU.
#include <array>

#include "engine/device/check.h"
#include "engine/device/range.h"
#include "engine/distribute/replica/upload.h"
#include "engine/distribute/step/phases.h"

namespace lockstep {
namespace {

void explain_no_copy(const Facts::Numbers& numbers, Span& span) {
  const bool shared = numbers[0] != 0;
  span.details = {
      {"bytes", "0"},
      {"note", json_text(shared ? "nothing is copied: the replicas share replica 0's variables"
                                : "nothing is copied in a step: this replica's own variables have the bits of the last update")}};
}

void explain_shard(const Facts::Numbers& numbers, Span& span) {
  constexpr std::array<const char*, 4> kNames = {"first sample", "samples", "global batch", "bytes"};
  for (std::size_t i = 0; i < kNames.size(); ++i) span.details.emplace_back(kNames[i], std::to_string(numbers[i]));
}

// The shard's part of an array of the whole batch.
struct Rows {
  Rows(const Array& of, const Shard& shard) {
    if (of.empty()) return;
    const std::size_t row = of.bytes() / static_cast<std::size_t>(of.samples());
    from = static_cast<const unsigned char*>(of.raw()) + row * static_cast<std::size_t>(shard.first);
    bytes = row * static_cast<std::size_t>(shard.count);
  }
  const unsigned char* from = nullptr;
  std::size_t bytes = 0;
};

// Returns the bytes that were uploaded.
std::size_t upload_shard(StepReplica& replica, const StepBatch& batch, const GradientBuckets& buckets, bool graphs) {
  ReplicaInput& input = replica.input;
  input.program = nullptr;
  input.label_view = input.weight_view = Tensor();
  if (input.shard.count == 0) return 0;
  Program& program = replica.replica.program(input.shard.count, batch.mode);
  program.use_graphs(graphs ? &buckets.segment_ends() : nullptr);
  const Rows x(batch.x, input.shard), y(batch.y, input.shard), weights(batch.weights, input.shard);
  reserve(replica, input.labels, y.bytes, "labels");
  reserve(replica, input.losses, static_cast<std::size_t>(input.shard.count) * sizeof(float), "losses");
  reserve(replica, input.weights, weights.bytes, "weights of samples");

  Upload upload(replica, x.bytes + y.bytes + weights.bytes, batch.deadline);
  upload.add(x.from, x.bytes, program.input());
  if (y.bytes > 0) {
    input.label_view = Tensor(input.labels.raw(), batch.y.shape().sample().batched(input.shard.count), batch.y.dtype());
    upload.add(y.from, y.bytes, input.label_view);
  }
  if (weights.bytes > 0) {
    input.weight_view = Tensor(input.weights.raw(), {input.shard.count});
    upload.add(weights.from, weights.bytes, input.weight_view);
  }
  upload.end();
  input.program = &program;
  return x.bytes + y.bytes + weights.bytes;
}

}  // namespace

void shard(ReplicaSet& replicas, StepBatch& batch, GradientBuckets& buckets, const StepTrace& trace, bool graphs) {
  // Every worker sees the whole global batch and takes its replicas' shards of it; predictions it makes by itself, for all samples.
  const bool predicts = batch.y.empty();
  const WorkerPlace place = replicas.place();
  const std::vector<Shard> all = cut_batch(batch.x.samples(), predicts ? replicas.size() : place.replicas);
  const auto here = all.begin() + (predicts ? 0 : place.first_replica);
  batch.shards.assign(here, here + replicas.size());
  if (batch.training()) buckets.find_rows(batch, all);

  const auto one_replica = [&](int r) {
    StepReplica& replica = replicas[static_cast<std::size_t>(r)];
    const Range range("shard", r, static_cast<int>(Phase::shard));
    replica.input.shard = batch.shards[static_cast<std::size_t>(r)];
    Tracer* tracer = trace.of(batch);
    const Stream& stream = replica.gpu().compute();
    if (batch.training()) replica.marks.set(PhaseMarks::begin, stream);
    if (tracer) {
      SpanRecord replicated = span_of(replicas, r, Phase::replicate, batch.step);
      replicated.facts = {explain_no_copy, {replicas.one_copy && r > 0}};
      const DeviceSpan nothing_moves(tracer, stream, replicated);
    }
    const SpanRecord record = span_of(replicas, r, Phase::shard, batch.step);
    DeviceSpan span(tracer, stream, record);
    const HostSpan staging(tracer, record.part("staging"));
    const std::size_t bytes = upload_shard(replica, batch, buckets, graphs);
    if (batch.training()) {
      buckets.upload_rows(r, batch.deadline);
      replica.marks.set(PhaseMarks::sharded, stream);
    }
    const Shard& shard = replica.input.shard;
    span.facts = {explain_shard, {shard.first, shard.count, batch.x.samples(), static_cast<std::int64_t>(bytes)}};
  };
  // Waking the replicas' threads takes longer than a small copy.
  constexpr std::size_t kSmall = std::size_t{1} << 20;
  if (batch.x.bytes() + batch.y.bytes() > kSmall) {
    in_phase(Phase::shard, batch.step, [&] { replicas.threads.run(one_replica, batch.deadline); });
  } else {
    replicas.serve_each(Phase::shard, batch.step, [&](StepReplica& replica) {
      const DeviceGuard guard(replica.gpu().physical());
      one_replica(replica.index());
    });
  }
}

}  // namespace lockstep
