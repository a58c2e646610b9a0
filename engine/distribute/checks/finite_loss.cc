// A loss that is not finite: noticed before the update, so that the weights survive it, and traced to where it comes from.
//
// Each replica's sum of losses is copied to the host right behind the loss kernel. By the time the host asks, backward is still running, so
// looking costs the GPU nothing. Only once something is wrong is forward run again, layer by layer.
#include "engine/distribute/checks/finite_loss.h"

#include <cmath>

#include "engine/ops/elementwise.h"

namespace lockstep {
namespace {

// The first element that is not finite, or -1.
std::int64_t first_not_finite(const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (!std::isfinite(values[i])) return i;
  return -1;
}

std::string text_of(float value) { return std::isnan(value) ? "NaN" : value > 0 ? "infinity" : "-infinity"; }

std::vector<float> download(const OpContext& context, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.size()));
  ops::download(context, tensor, values.data());
  context.stream->synchronize();
  return values;
}

// What the input of a replica's samples holds that is not finite; empty: nothing.
std::string in_the_batch(const StepBatch& batch, const Shard& shard) {
  const Array &x = batch.x, &y = batch.y, &weights = batch.weights;
  const std::int64_t row = x.size() / x.samples();
  const std::int64_t first = shard.first;
  if (x.dtype() == DType::float32) {
    const float* values = x.data<float>() + first * row;
    const std::int64_t at = first_not_finite(values, shard.count * row);
    if (at >= 0) return "x holds " + text_of(values[at]) + " in sample " + std::to_string(first + at / row) + " of the batch";
  }
  if (!weights.empty()) {
    const std::int64_t at = first_not_finite(weights.data<float>() + first, shard.count);
    if (at >= 0) return "the weight of sample " + std::to_string(first + at) + " of the batch is not finite";
  }
  if (y.dtype() == DType::float32 && !y.empty()) {
    const std::int64_t width = y.size() / y.samples();
    const std::int64_t at = first_not_finite(y.data<float>() + first * width, shard.count * width);
    if (at >= 0) return "y holds a number that is not finite for sample " + std::to_string(first + at / width) + " of the batch";
  }
  return "";
}

// Why this replica's loss is not finite: its samples, a variable, or the first layer whose output is not.
std::string why_not_finite(ReplicaSet& replicas, StepReplica& replica, const StepBatch& batch, const LossImpl& loss) {
  std::string why = in_the_batch(batch, replica.input.shard);
  if (!why.empty()) return why;
  const Graph& graph = replicas.graph;
  const VariableStore& variables = replica.replica.variables();
  const OpContext context = replica.replica.compute_context();
  for (std::size_t v = 0; v < graph.layout().specs().size(); ++v) {
    const VariableSpec& spec = graph.layout().specs()[v];
    if (!spec.trainable) continue;  // moving statistics follow the activations, which are looked at below
    const std::vector<float> values = download(context, variables.variable(static_cast<int>(v)));
    const std::int64_t at = first_not_finite(values.data(), spec.shape.size());
    if (at >= 0) return "the variable " + spec.name + " holds " + text_of(values[static_cast<std::size_t>(at)]) + " since an earlier step";
  }

  // Forward once more; what it leaves in the moving statistics is taken back.
  const Tensor statistics = variables.state();
  std::vector<float> kept;
  if (statistics.defined()) kept = download(context, statistics);
  const Shard& shard = replica.input.shard;
  const std::size_t row = batch.x.bytes() / static_cast<std::size_t>(batch.x.samples());
  ops::upload(context, static_cast<const unsigned char*>(batch.x.raw()) + static_cast<std::size_t>(shard.first) * row,
              replica.input.program->input());
  context.stream->synchronize();
  std::string culprit;
  replica.input.program->forward(replicas.info(replica, batch), [&](const LayerImpl& layer, const Tensor& output) {
    if (!culprit.empty()) return;
    const std::vector<float> values = download(context, output);
    const std::int64_t at = first_not_finite(values.data(), output.size());
    if (at < 0) return;
    culprit = "the first layer whose output is not finite is " + layer.class_name() + " \"" + layer.name() + "\" (" +
              text_of(values[static_cast<std::size_t>(at)]) + " for sample " +
              std::to_string(shard.first + at / (output.size() / shard.count)) + " of the batch)";
  });
  if (statistics.defined()) {
    ops::upload(context, kept.data(), statistics);
    context.stream->synchronize();
  }
  return culprit.empty() ? "every layer's output is finite, so it is the loss " + loss.name() + " itself that overflows" : culprit;
}

}  // namespace

void require_finite_loss(ReplicaSet& replicas, const StepBatch& batch, const Compiled& compiled) {
  for (StepReplica& replica : replicas.all) {
    if (!replica.input.program) continue;
    bool known = false;
    replicas.serve(static_cast<std::size_t>(replica.index()), Phase::local_gradients, batch.step,
                   [&] { known = wait_until_done(replica.loss.known, batch.deadline); });
    if (!known) replicas.wait_for_gpus(Phase::local_gradients, batch);  // names who is late
    if (std::isfinite(replica.loss.sum.value())) continue;
    replicas.wait_for_gpus(Phase::all_reduce, batch);
    const std::string why = why_not_finite(replicas, replica, batch, *compiled.loss);
    throw Error("The loss is " + text_of(static_cast<float>(replica.loss.sum.value())) + " at step " + std::to_string(batch.step) +
                " (replica " + std::to_string(replica.index()) + "): " + why +
                ". The weights are those before this step. A smaller learning rate or clipnorm helps where numbers grow step by step.");
  }
}

}  // namespace lockstep
