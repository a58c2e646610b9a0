// The step as a whole: how the phases follow one another.
#include "engine/distribute/step/mirrored_step.h"

#include "engine/device/range.h"
#include "engine/distribute/checks/check_batch.h"
#include "engine/distribute/checks/finite_loss.h"
#include "engine/distribute/checks/mirrored.h"
#include "engine/distribute/step/step_state.h"
#include "engine/ops/elementwise.h"

namespace lockstep {

MirroredStep::MirroredStep(const Graph& graph, const std::vector<LogicalGpu*>& gpus, const std::shared_ptr<CrossDeviceOps>& ops,
                           const StepOptions& options, Tracer* tracer)
    : state_(std::make_unique<State>(graph, gpus, ops, options, tracer)) {}

// Memory is freed only when no GPU uses it any more. The calls that free it would wait without end for a GPU that never answers: what it
// may still use stays until the process ends.
MirroredStep::~MirroredStep() {
  if (!wait_until_idle()) static_cast<void>(state_.release());
}

bool MirroredStep::wait_until_idle() {
  State& state = *state_;
  state.late = !state.replicas.wait_until_idle(Deadline(state.late ? 0 : state.options.deadline_seconds));
  return !state.late;
}

void MirroredStep::set_training(std::shared_ptr<LossImpl> loss, std::shared_ptr<OptimizerImpl> optimizer,
                                std::vector<std::shared_ptr<MetricImpl>> metrics, std::size_t weighted) {
  State& state = *state_;
  if (static_cast<int>(metrics.size()) >= Replica::kSums) {
    throw Error("At most " + std::to_string(Replica::kSums - 1) + " metrics can be kept, not " + std::to_string(metrics.size()) + ".");
  }
  if (optimizer->accumulation_steps() > 1 && optimizer->sums_squares())
    throw Error(
        "gradient_accumulation_steps and embedding_gradients(\"keras\") can't be used together: squares of sums over batches are lost");
  const std::size_t first_weighted = metrics.size() - std::min(weighted, metrics.size());
  state.compiled = {std::move(loss), std::move(optimizer), std::move(metrics), first_weighted};
  state.batch.accumulation = state.compiled.accumulation();
  state.batch.accumulated = 0;
  const OptimizerImpl& rule = *state.compiled.optimizer;
  if (replica(0).variables().slots() != rule.slots()) state.mirrored = false;  // phase 1 copies them
  for (StepReplica& replica : state.replicas.all) {
    VariableStore& variables = replica.replica.variables();
    variables.make_slots(rule.slots());
    variables.make_squares(rule.sums_squares());
    if (state.batch.accumulation > 1)
      reserve(replica, replica.accumulated, variables.gradients().bytes(), "gradients that wait for their update");
  }
  clear_totals();
}

void MirroredStep::replicate() {
  state_->mirrored = false;
  replicate_where_due();
}

// All workers take part in a copy, and the next use may be a prediction that one of them makes by itself.
void MirroredStep::variables_changed() {
  state_->mirrored = false;
  if (state_->replicas.place().workers > 1) replicate();
}

void MirroredStep::replicate_where_due() {
  if (!state_->mirrored) state_->guarded([&] { state_->replicate_if_due(); });
}

void MirroredStep::train(const Array& x, const Array& y, const Array& weights) {
  State& state = *state_;
  if (!state.compiled.loss || !state.compiled.optimizer)
    throw Error("A model is trained once it is compiled with a loss and an optimizer.");
  check_batch(x, y, weights, state.replicas.graph, state.compiled.loss.get());
  state.guarded([&] {
    const Range range("step", state.batch.step);
    state.begin(Mode::training, x, y, weights);
    state.replicate_if_due();
    state.trace.begin(state.replicas, state.batch, state.buckets.size());
    state.replicas.phase_times.begin_step();
    shard(state.replicas, state.batch, state.buckets, state.trace, state.options.graphs);
    local_gradients(state.replicas, state.batch, state.buckets, state.compiled, state.trace);
    all_reduce(state.replicas, state.batch, state.buckets, state.trace, state.options.overlap);
    require_finite_loss(state.replicas, state.batch, state.compiled);
    finish();
    state.count_samples();
  });
}

// Phases 5 and 6, where this batch completes an update.
void MirroredStep::finish() {
  State& state = *state_;
  if (!state.batch.updates()) {
    state.replicas.wait_for_gpus(Phase::barrier, state.batch);
    state.replicas.end_times(state.batch);
    ++state.batch.accumulated;
    return;
  }
  state.updating = true;
  update(state.replicas, state.batch, *state.compiled.optimizer, state.trace.of(state.batch));
  barrier(state.replicas, state.batch, state.trace, state.options);
  state.updating = false;
  state.batch.accumulated = 0;
  ++state.batch.step;
}

void MirroredStep::evaluate(const Array& x, const Array& y, const Array& weights) {
  State& state = *state_;
  if (!state.compiled.loss) throw Error("A model is evaluated once it is compiled with a loss.");
  check_batch(x, y, weights, state.replicas.graph, state.compiled.loss.get());
  state.guarded([&] {
    const Range range("evaluate");
    state.begin(Mode::inference, x, y, weights);
    state.replicate_if_due();
    shard(state.replicas, state.batch, state.buckets, state.trace, state.options.graphs);
    local_gradients(state.replicas, state.batch, state.buckets, state.compiled, state.trace);
    in_phase(Phase::local_gradients, state.batch.step, [&] { state.replicas.threads.wait(state.batch.deadline); });
    state.count_samples();
  });
}

Array MirroredStep::predict(const Array& x) {
  State& state = *state_;
  check_batch(x, {}, {}, state.replicas.graph, nullptr);
  const Shape& output = state.replicas.graph.output();
  Array result(output.batched(x.samples()));
  state.guarded([&] {
    const Range range("predict");
    state.begin(Mode::inference, x, {}, {});
    state.replicate_if_due();
    shard(state.replicas, state.batch, state.buckets, state.trace, state.options.graphs);
    const auto forward = [&state, result, row = output.size()](int r) mutable {
      StepReplica& replica = state.replicas[static_cast<std::size_t>(r)];
      if (!replica.input.program) return;
      replica.input.program->forward(state.replicas.info(replica, state.batch));
      ops::download(replica.replica.compute_context(), replica.input.program->output(),
                    result.data<float>() + replica.input.shard.first * row);
    };
    in_phase(Phase::local_gradients, state.batch.step, [&] { state.replicas.threads.run(forward, state.batch.deadline); });
    state.replicas.wait_for_gpus(Phase::barrier, state.batch);
  });
  return result;
}

}  // namespace lockstep
