// Phase 3, local gradients: every replica runs forward and backward on its own samples, its own stream, its own host thread.
//
// This only starts the threads. As soon as the last gradient of a bucket is issued a replica records that bucket's event and reports it;
// phase 4 takes it from there while backward goes on. A replica without samples contributes zeros: the sum stays right.
//
// Moving statistics follow each replica's own samples during forward. Then every replica multiplies its copy by its share of the global
// batch, and phase 4 sums: the weighted mean, the same bits everywhere. A moving update is linear, so this equals keeping the copies
// apart and averaging them when they are read. A replica without samples has weight 0.
#include <algorithm>
#include <optional>

#include "engine/device/range.h"
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/distribute/step/step_trace.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/pointwise.h"

namespace lockstep {

// Where several batches make an update the earlier ones' gradients wait in a buffer of their own; the last one's bucket takes them along.
void MirroredStep::State::bucket_ready(ReplicaPart& part, std::size_t bucket) {
  const OpContext context = part.replica.compute_context();
  if (accumulation() > 1) {
    const Shape range{buckets[bucket].count};
    const Tensor now(part.replica.variables().gradients().f32() + buckets[bucket].first, range);
    const Tensor before(static_cast<float*>(part.accumulated.raw()) + buckets[bucket].first, range);
    if (accumulated == 0) {
      ops::copy(context, now, before);
    } else if (!updates()) {
      ops::add(context, now, before);
    } else {
      ops::add(context, before, now);
      ops::scale_and_shift(context, now, now, 1.0F / static_cast<float>(accumulation()), 0);
    }
  }
  if (inspecting) measure_norm(part, *context.stream, bucket, false);
  part.bucket_ready[bucket].record(*context.stream);
  board.arrive(bucket);
}

void MirroredStep::State::no_gradients(ReplicaPart& part) {
  VariableStore& variables = part.replica.variables();
  const OpContext context = part.replica.compute_context();
  ops::fill(context, 0.0F, variables.gradients());
  for (const int variable : variables.layout().ready_order())
    if (const Tensor squares = variables.squares(variable); squares.defined()) ops::fill(context, 0.0F, squares);
  for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) bucket_ready(part, bucket);
  weigh_state(part, 0);
}

void MirroredStep::State::weigh_state(ReplicaPart& part, double weight) {
  if (!averages_state()) return;
  const OpContext context = part.replica.compute_context();
  const Tensor own = part.replica.variables().moving();
  ops::scale_and_shift(context, own, own, static_cast<float>(weight), 0);
  part.bucket_ready[buckets.size()].record(*context.stream);
  board.arrive(buckets.size());
}

void MirroredStep::local_gradients() {
  State& state = *state_;
  const bool training = state.mode == Mode::training;
  state.board.reset(state.buckets.size() + (state.averages_state() ? 1 : 0), state.replicas());

  // Larger shards come first, so the replicas that have samples are the first ones.
  const auto with_samples = std::count_if(state.shards.begin(), state.shards.end(), [](const Shard& shard) { return shard.count > 0; });
  state.group.begin(static_cast<int>(with_samples), *state.deadline);

  const auto one_replica = [&state, training](int r) {
    ReplicaPart& part = state.parts[static_cast<std::size_t>(r)];
    const Stream& stream = part.replica.gpu().compute();
    const OpContext context = part.replica.compute_context();
    Tracer* tracer = state.step_tracer();
    const Range range("local gradients", r, static_cast<int>(Phase::local_gradients));
    const SpanRecord span = state.span(Phase::local_gradients, r);
    const DeviceSpan whole(tracer, stream, span);
    const HostSpan issuing(tracer, span.part("issuing"));

    const auto share = [&] { return static_cast<double>(part.shard.count) / static_cast<double>(state.x.samples()); };
    if (!part.program) {
      if (training) state.no_gradients(part);
      return;
    }

    Program& program = *part.program;
    const StepInfo info = state.info(part);
    const Tensor losses(part.losses.raw(), {part.shard.count});
    std::optional<TracedLayers> layers;
    if (tracer) layers.emplace(*tracer, stream, span);
    program.watch(layers ? &*layers : nullptr);
    const std::unique_ptr<Program, void (*)(Program*)> until_the_end(&program, [](Program* one) { one->watch(nullptr); });
    {
      const Range inner("forward");
      const DeviceSpan forward(tracer, stream, span.part("forward"));
      program.forward(info);
    }
    {
      const Range inner("loss and metrics");
      const DeviceSpan loss(tracer, stream, span.part("loss and metrics"));
      state.loss->run(context, program, part.label_view, info.global_batch, losses, training);
      if (part.weight_view.defined()) {
        const Tensor gradient = state.loss->from_logits(program) ? program.logits_gradient() : program.output_gradient();
        ops::weigh_samples(context, part.weight_view, losses, training ? gradient : Tensor());
      }
      ops::add_to_sum(context, losses, part.replica.sums(), 0);
      if (state.inspecting && training)
        part.losses_read = static_cast<const float*>(
            tracer->read(stream, losses.raw(), static_cast<std::size_t>(std::min(part.shard.count, State::kLossesShown)) * sizeof(float)));
      if (training) {
        part.sums_cleared = false;
        part.loss_sum.copy_from(part.replica.sums(), stream);
        part.loss_known.record(stream);
      }
      for (std::size_t m = 0; m < state.metrics.size(); ++m) {
        const Tensor weights = m >= state.first_weighted ? part.weight_view : Tensor();
        state.metrics[m]->add(context, program, part.label_view, weights, part.replica.sums(), static_cast<int>(m) + 1);
      }
    }
    if (!training) return;
    const Range inner("backward");
    const DeviceSpan backward(tracer, stream, span.part("backward"));
    const auto ready = [&](int variable) {
      const std::int64_t bucket = state.last_variable[static_cast<std::size_t>(variable)];
      if (bucket >= 0) state.bucket_ready(part, static_cast<std::size_t>(bucket));
    };
    program.backward(info, state.loss->from_logits(program), ready);
    state.weigh_state(part, share());
  };

  state.threads.start(state.where(Phase::local_gradients), [&state, one_replica, training](int r) {
    try {
      one_replica(r);
      ReplicaPart& part = state.parts[static_cast<std::size_t>(r)];
      if (training) part.marks.set(PhaseMarks::computed, part.replica.gpu().compute());
    } catch (...) {
      state.give_up();  // phase 4 and the others must not wait for this replica
      throw;
    }
  });
}

}  // namespace lockstep
