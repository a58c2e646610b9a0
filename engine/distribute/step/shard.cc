// Phase 2, shard: the global batch is cut into contiguous runs of samples, and every replica takes its own to its GPU.
#include <algorithm>

#include <backend/host_clock.h>
#include "engine/device/range.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void check_batch(const Array& x, const Array& y, const Array& weights, const Graph& graph, const LossImpl* loss) {
  if (x.samples() == 0) throw Error("A batch without samples was given: at least one is needed.");
  if (x.shape().sample() != graph.input()) {
    throw Error("The model takes samples of shape " + graph.input().str() + ", but x holds samples of shape " + x.shape().sample().str() +
                ".");
  }
  if (x.dtype() != graph.input_type()) {
    const bool wants_floats = graph.input_type() == DType::float32;
    throw Error(std::string("The model takes samples of type ") + (wants_floats ? "float32" : "int32") + ", but x holds " +
                (wants_floats ? "int32." : "float32."));
  }
  for (const Node& node : graph.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), -1) != node.inputs.end()) node.layer->check_samples(x);
  if (y.shape().rank() == 0) return;  // predict
  if (y.samples() != x.samples()) {
    throw Error("x holds " + std::to_string(x.samples()) + " samples, but y holds " + std::to_string(y.samples()) + ".");
  }
  if (weights.shape().rank() > 0 && (weights.shape() != Shape{x.samples()} || weights.dtype() != DType::float32)) {
    throw Error("Weights of samples are float32 numbers, one for each of the " + std::to_string(x.samples()) +
                " samples, but they have shape " + weights.shape().str() + ".");
  }
  if (!loss) return;
  if (y.dtype() != loss->label_type()) {
    throw Error(std::string("The loss ") + loss->name() + " takes labels of type " +
                (loss->label_type() == DType::int32 ? "int32" : "float32") + ", but y holds another type.");
  }
  loss->check_labels(y, graph.output());
}

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

}  // namespace

void reserve(ReplicaPart& part, Buffer& buffer, std::size_t bytes, const char* what) {
  if (buffer.bytes() >= bytes) return;
  LogicalGpu& gpu = part.replica.gpu();
  gpu.compute().synchronize();  // the smaller one may still be in use
  buffer = Buffer();
  buffer = gpu.arena().allocate(bytes, "replica " + std::to_string(part.replica.index()) + ": " + what);
}

std::vector<Shard> MirroredStep::shard(const Array& x, const Array& y) {
  State& state = *state_;
  check_batch(x, y, state.weights, state.graph, state.loss.get());
  // Every worker sees the whole global batch and takes its replicas' shards of it; predictions it makes by itself, for all samples.
  const WorkerPlace place = state.place();
  const std::vector<Shard> all = cut_batch(x.samples(), y.empty() ? state.replicas() : place.replicas);
  const auto here = all.begin() + (y.empty() ? 0 : place.first_replica);
  state.shards.assign(here, here + state.replicas());
  if (state.mode == Mode::training)
    for (const auto& exchange : state.exchanges)
      if (exchange) exchange->begin(x, all);

  const auto one_replica = [&state](int r) {
    ReplicaPart& part = state.parts[static_cast<std::size_t>(r)];
    const Range range("shard", r, static_cast<int>(Phase::shard));
    const bool training = state.mode == Mode::training;
    part.shard = state.shards[static_cast<std::size_t>(r)];
    part.program = nullptr;
    Tracer* tracer = state.step_tracer();
    const Stream& stream = part.replica.gpu().compute();
    if (training) part.marks.set(PhaseMarks::begin, stream);
    if (tracer) {
      SpanRecord replicated = state.span(Phase::replicate, r);
      replicated.facts = {explain_no_copy, {state.one_copy && r > 0}};
      const DeviceSpan nothing_moves(tracer, stream, replicated);
    }
    DeviceSpan span(tracer, stream, state.span(Phase::shard, r));
    const HostSpan staging(tracer, state.span(Phase::shard, r).part("staging"));
    std::size_t x_bytes = 0;
    std::size_t y_bytes = 0;
    std::size_t w_bytes = 0;
    if (part.shard.count > 0) {
      Program& program = part.replica.program(part.shard.count, state.mode);
      program.use_graphs(state.options.graphs ? &state.segment_ends : nullptr);
      const auto samples = static_cast<std::size_t>(state.x.samples());
      const auto first = static_cast<std::size_t>(part.shard.first);
      const auto count = static_cast<std::size_t>(part.shard.count);
      const std::size_t x_row = state.x.bytes() / samples;
      const std::size_t y_row = state.y.bytes() / samples;
      x_bytes = x_row * count;
      y_bytes = y_row * count;
      w_bytes = state.weights.empty() ? 0 : count * sizeof(float);
      reserve(part, part.labels, y_bytes, "labels");
      reserve(part, part.losses, count * sizeof(float), "losses");
      reserve(part, part.weights, w_bytes, "weights of samples");
      if (program.input().dtype() != state.x.dtype()) throw Error("the model takes samples of another type than x holds.");

      unsigned char* pinned = part.staging.next(x_bytes + y_bytes + w_bytes, *state.deadline);
      host_clock_copy(pinned, static_cast<const unsigned char*>(state.x.raw()) + first * x_row, x_bytes, stream.get());
      const OpContext context = part.replica.compute_context();
      ops::upload(context, pinned, program.input());
      part.label_view = Tensor();
      if (y_bytes) {
        host_clock_copy(pinned + x_bytes, static_cast<const unsigned char*>(state.y.raw()) + first * y_row, y_bytes, stream.get());
        part.label_view = Tensor(part.labels.raw(), state.y.shape().sample().batched(part.shard.count), state.y.dtype());
        ops::upload(context, pinned + x_bytes, part.label_view);
      }
      part.weight_view = Tensor();
      if (w_bytes) {
        host_clock_copy(pinned + x_bytes + y_bytes, state.weights.data<float>() + first, w_bytes, stream.get());
        part.weight_view = Tensor(part.weights.raw(), {part.shard.count});
        ops::upload(context, pinned + x_bytes + y_bytes, part.weight_view);
      }
      part.staging.issued(part.replica.gpu().compute());
      part.program = &program;
    }
    if (training)
      for (const auto& exchange : state.exchanges)
        if (exchange) exchange->upload(r, *state.deadline);
    if (training) part.marks.set(PhaseMarks::sharded, stream);
    if (tracer) {
      span.facts = {explain_shard,
                    {part.shard.first, part.shard.count, state.x.samples(), static_cast<std::int64_t>(x_bytes + y_bytes + w_bytes)}};
    }
  };
  // Waking the replicas' threads takes longer than a small copy.
  constexpr std::size_t kSmall = std::size_t{1} << 20;
  if (x.bytes() + y.bytes() > kSmall || host_clock_is_modelled()) {
    state.threads.run(state.where(Phase::shard), one_replica, *state.deadline);
    return state.shards;
  }
  for (std::size_t r = 0; r < state.parts.size(); ++r) {
    state.serve(r, Phase::shard, [&] {
      const DeviceGuard guard(state.gpus[r]->physical());
      one_replica(static_cast<int>(r));
    });
  }
  return state.shards;
}

}  // namespace lockstep
