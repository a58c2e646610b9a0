// A step made by hand: what a custom training loop calls from Strategy::run, replica by replica.
#include <algorithm>

#include <backend/host_clock.h>
#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void upload(ReplicaPart& part, const Array& from, const Tensor& to, const Deadline& deadline) {
  unsigned char* pinned = part.staging.next(from.bytes(), deadline);
  host_clock_copy(pinned, from.raw(), from.bytes(), part.replica.gpu().compute().get());
  ops::upload(part.replica.compute_context(), pinned, to);
  part.staging.issued(part.replica.gpu().compute());
}

}  // namespace

// A replica that fails must not be waited for.
template <typename Action>
auto MirroredStep::by_hand(Action&& action) {
  try {
    return action();
  } catch (...) {
    const std::lock_guard lock(state_->hand);
    state_->hand_failed = true;
    state_->give_up();
    throw;
  }
}

Array MirroredStep::forward(int replica, const Array& x) {
  return by_hand([&] { return forward_now(replica, x); });
}
double MirroredStep::backward(int replica, const Array& y, std::int64_t global_batch) {
  return by_hand([&] { return backward_now(replica, y, global_batch); });
}

Array MirroredStep::forward_now(int replica, const Array& x) {
  State& state = *state_;
  if (!state.loss || !state.optimizer) throw Error("A model is trained once it is compiled with a loss and an optimizer.");
  if (state.place().workers > 1) throw Error("A step by hand is made in one process; with several workers use fit or train_on_batch.");
  if (x.shape().rank() < 1 || x.shape().sample() != state.graph.input() || x.dtype() != state.graph.input_type())
    throw Error("The model takes samples of shape " + state.graph.input().str() + ", but x is of shape " + x.shape().str() +
                " or another type.");
  {
    const std::lock_guard lock(state.hand);
    const bool again = state.hand_failed && state.parts.at(static_cast<std::size_t>(replica)).done_by_hand != ReplicaPart::Done::nothing;
    if (!state.by_hand || again) {  // the first replica to come begins the step
      state.hand_failed = false;
      if (!state.broken.empty()) state.guarded([] {});
      if (!state.mirrored) replicate();
      state.mode = Mode::training;
      state.begin_trace();
      state.deadline.emplace(state.options.deadline_seconds);
      state.board.reset(state.buckets.size() + (state.averages_state() ? 1 : 0), state.replicas());
      state.group.begin(state.replicas(), *state.deadline);
      for (ReplicaPart& part : state.parts) part.done_by_hand = ReplicaPart::Done::nothing;
      state.by_hand = true;
    }
  }
  ReplicaPart& part = state.parts.at(static_cast<std::size_t>(replica));
  if (part.done_by_hand != ReplicaPart::Done::nothing) throw Error("Replica " + std::to_string(replica) + " has run forward in this step.");
  part.done_by_hand = ReplicaPart::Done::forward;
  part.shard = {replica * x.samples(), x.samples()};
  part.program = nullptr;
  Array result(state.graph.output().batched(x.samples()));
  if (x.samples() == 0) {
    for (const Node& node : state.graph.nodes()) {
      if (node.layer->sums_over_replicas())
        throw Error("\"" + node.layer->name() +
                    "\" takes the statistics of all replicas, and this one has no samples: in a step by hand each needs some.");
    }
    return result;
  }
  for (const Node& node : state.graph.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), -1) != node.inputs.end()) node.layer->check_samples(x);
  Program& program = part.replica.program(x.samples(), Mode::training);
  upload(part, x, program.input(), *state.deadline);
  part.by_hand = {state.options.seed, state.batch_number(), part.shard.first, x.samples() * state.replicas()};
  if (state.replicas() > 1) {
    part.by_hand.group = &state.group;
    part.by_hand.member = replica;
  }
  program.forward(part.by_hand);
  part.program = &program;
  ops::download(part.replica.compute_context(), program.output(), result.data<float>());
  part.replica.gpu().compute().synchronize();
  return result;
}

double MirroredStep::backward_now(int replica, const Array& y, std::int64_t global_batch) {
  State& state = *state_;
  ReplicaPart& part = state.parts.at(static_cast<std::size_t>(replica));
  if (!state.by_hand || part.done_by_hand != ReplicaPart::Done::forward)
    throw Error("Replica " + std::to_string(replica) + " runs forward once, then backward once, in every step.");
  if (global_batch < part.shard.count)
    throw Error("A global batch of " + std::to_string(global_batch) + " can't hold this replica's " + std::to_string(part.shard.count) +
                " samples.");
  part.done_by_hand = ReplicaPart::Done::backward;
  if (!part.program) {
    state.no_gradients(part);
    return 0;
  }
  if (y.shape().rank() < 1 || y.samples() != part.shard.count || y.dtype() != state.loss->label_type())
    throw Error("backward: " + std::to_string(part.shard.count) + " labels of the loss's type are wanted, y is of shape " +
                y.shape().str());
  state.loss->check_labels(y, state.graph.output());
  const OpContext context = part.replica.compute_context();
  reserve(part, part.labels, y.bytes(), "labels");
  reserve(part, part.losses, static_cast<std::size_t>(part.shard.count) * sizeof(float), "losses");
  part.label_view = Tensor(part.labels.raw(), y.shape(), y.dtype());
  upload(part, y, part.label_view, *state.deadline);
  const Tensor losses(part.losses.raw(), {part.shard.count});
  state.loss->run(context, *part.program, part.label_view, global_batch, losses, true);
  part.program->backward(part.by_hand, state.loss->from_logits(*part.program), [&](int variable) {
    const std::int64_t bucket = state.last_variable[static_cast<std::size_t>(variable)];
    if (bucket >= 0) state.bucket_ready(part, static_cast<std::size_t>(bucket));
  });
  state.weigh_state(part, static_cast<double>(part.shard.count) / static_cast<double>(global_batch));
  std::vector<float> values(static_cast<std::size_t>(part.shard.count));
  ops::download(context, losses, values.data());
  context.stream->synchronize();
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(global_batch);
}

void MirroredStep::apply_gradients() {
  State& state = *state_;
  for (const ReplicaPart& part : state.parts) {
    if (!state.by_hand || part.done_by_hand != ReplicaPart::Done::backward)
      throw Error("apply_gradients: replica " + std::to_string(part.replica.index()) +
                  " has no gradients; every replica runs forward and backward first, also those without samples.");
  }
  const std::unique_ptr<State, void (*)(State*)> until_the_end(&state, [](State* one) { one->by_hand = false; });
  state.guarded([&] {
    all_reduce();
    finish();
  });
}

}  // namespace lockstep
