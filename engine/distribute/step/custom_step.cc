// The phases one by one: what a custom training loop calls from Strategy::run, replica by replica.
#include <algorithm>

#include "engine/distribute/buckets/bucket_report.h"
#include "engine/distribute/replica/upload.h"
#include "engine/distribute/step/step_state.h"
#include "engine/ops/elementwise.h"

namespace lockstep {
namespace {

void upload(StepReplica& replica, const Array& from, const Tensor& to, const Deadline& deadline) {
  Upload upload(replica, from.bytes(), deadline);
  upload.add(from.raw(), from.bytes(), to);
  upload.end();
}

void check_input(const Array& x, const Graph& graph) {
  if (x.shape().rank() < 1 || x.shape().sample() != graph.input() || x.dtype() != graph.input_type())
    throw Error("The model takes samples of shape " + graph.input().str() + ", but x is of shape " + x.shape().str() + " or another type.");
  for (const Node& node : graph.nodes()) {
    if (x.samples() > 0 && std::find(node.inputs.begin(), node.inputs.end(), -1) != node.inputs.end()) node.layer->check_samples(x);
  }
}

// For a replica without samples.
void require_no_sums(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.layer->sums_over_replicas())
      throw Error("\"" + node.layer->name() +
                  "\" takes the statistics of all replicas, and this one has no samples: in a custom step each needs some.");
}

}  // namespace

// A replica that fails must not be waited for.
template <typename Action>
auto MirroredStep::custom(Action&& action) {
  try {
    return action();
  } catch (...) {
    const std::lock_guard lock(state_->custom.begin);
    state_->custom.failed = true;
    state_->buckets.board.stop();
    state_->replicas.group.stop();
    throw;
  }
}

Array MirroredStep::forward(int replica, const Array& x) {
  return custom([&] { return custom_forward(replica, x); });
}
double MirroredStep::backward(int replica, const Array& y, std::int64_t global_batch) {
  return custom([&] { return custom_backward(replica, y, global_batch); });
}

// The first replica to come begins the step.
void MirroredStep::State::begin_custom(std::size_t replica) {
  const std::lock_guard lock(custom.begin);
  const bool again = custom.failed && custom.done.at(replica) != CustomStep::Done::nothing;
  if (batch.custom && !again) return;
  custom.failed = false;
  guarded([&] {
    begin(Mode::training, {}, {}, {});
    replicate_if_due();
  });
  trace.begin(replicas, batch, buckets.size());
  buckets.board.reset(buckets.messages(), replicas.size());
  replicas.group.begin(replicas.size(), batch.deadline);
  custom.done.assign(custom.done.size(), CustomStep::Done::nothing);
  batch.custom = true;
}

Array MirroredStep::custom_forward(int index, const Array& x) {
  State& state = *state_;
  const auto r = static_cast<std::size_t>(index);
  const Graph& graph = state.replicas.graph;
  if (!state.compiled.loss || !state.compiled.optimizer)
    throw Error("A model is trained once it is compiled with a loss and an optimizer.");
  if (state.replicas.place().workers > 1)
    throw Error("A custom step is made in one process; with several workers use fit or train_on_batch.");
  check_input(x, graph);
  state.begin_custom(r);
  if (state.custom.done[r] != CustomStep::Done::nothing) throw Error("Replica " + std::to_string(index) + " has run forward in this step.");
  state.custom.done[r] = CustomStep::Done::forward;
  StepReplica& replica = state.replicas[r];
  replica.input.shard = {index * x.samples(), x.samples()};
  replica.input.program = nullptr;
  Array result(graph.output().batched(x.samples()));
  if (x.samples() == 0) {
    require_no_sums(graph);
    return result;
  }
  Program& program = replica.replica.program(x.samples(), Mode::training);
  upload(replica, x, program.input(), state.batch.deadline);
  StepInfo& info = state.custom.info[r];
  info = {state.options.seed, state.batch.number(), replica.input.shard.first, x.samples() * state.replicas.size()};
  if (state.replicas.size() > 1) {
    info.group = &state.replicas.group;
    info.member = index;
  }
  program.forward(info);
  replica.input.program = &program;
  ops::download(replica.replica.compute_context(), program.output(), result.data<float>());
  replica.gpu().compute().synchronize();
  return result;
}

double MirroredStep::custom_backward(int index, const Array& y, std::int64_t global_batch) {
  State& state = *state_;
  const auto r = static_cast<std::size_t>(index);
  StepReplica& replica = state.replicas.all.at(r);
  ReplicaInput& input = replica.input;
  const LossImpl& loss = *state.compiled.loss;
  if (!state.batch.custom || state.custom.done[r] != CustomStep::Done::forward)
    throw Error("Replica " + std::to_string(index) + " runs forward once, then backward once, in every step.");
  if (global_batch < input.shard.count)
    throw Error("A global batch of " + std::to_string(global_batch) + " can't hold this replica's " + std::to_string(input.shard.count) +
                " samples.");
  state.custom.done[r] = CustomStep::Done::backward;
  const BucketReport report(state.replicas, state.buckets, state.trace, state.batch);
  if (!input.program) {
    report.no_gradients(replica);
    return 0;
  }
  if (y.shape().rank() < 1 || y.samples() != input.shard.count || y.dtype() != loss.label_type())
    throw Error("backward: " + std::to_string(input.shard.count) + " labels of the loss's type are wanted, y is of shape " +
                y.shape().str());
  loss.check_labels(y, state.replicas.graph.output());
  const OpContext context = replica.replica.compute_context();
  reserve(replica, input.labels, y.bytes(), "labels");
  reserve(replica, input.losses, static_cast<std::size_t>(input.shard.count) * sizeof(float), "losses");
  input.label_view = Tensor(input.labels.raw(), y.shape(), y.dtype());
  upload(replica, y, input.label_view, state.batch.deadline);
  const Tensor losses(input.losses.raw(), {input.shard.count});
  loss.run(context, *input.program, input.label_view, global_batch, losses, true);
  input.program->backward(state.custom.info[r], loss.from_logits(*input.program),
                          [&](int variable) { report.gradient(replica, variable); });
  report.state(replica, static_cast<double>(input.shard.count) / static_cast<double>(global_batch));
  std::vector<float> values(static_cast<std::size_t>(input.shard.count));
  ops::download(context, losses, values.data());
  context.stream->synchronize();
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(global_batch);
}

void MirroredStep::apply_gradients() {
  State& state = *state_;
  for (std::size_t r = 0; r < state.custom.done.size(); ++r) {
    if (!state.batch.custom || state.custom.done[r] != CustomStep::Done::backward)
      throw Error("apply_gradients: replica " + std::to_string(r) +
                  " has no gradients; every replica runs forward and backward first, also those without samples.");
  }
  const std::unique_ptr<State, void (*)(State*)> end_of_step(&state, [](State* one) { one->batch.custom = false; });
  state.guarded([&] {
    all_reduce(state.replicas, state.batch, state.buckets, state.trace, state.options.overlap);
    finish();
  });
}

}  // namespace lockstep
