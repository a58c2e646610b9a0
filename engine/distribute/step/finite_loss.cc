// A loss that is not finite: noticed before the update, so that the weights survive it, and traced to where it comes from.
//
// Each replica's sum of losses is copied to the host right behind the loss kernel. By the time the host asks, backward is still running, so
// looking costs the GPU nothing. Only once something is wrong is forward run again, layer by layer.
#include <cmath>

#include "engine/distribute/step/mirrored_step_state.h"
#include "engine/ops/elementwise.h"
#include "lockstep/error.h"

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

}  // namespace

std::string MirroredStep::State::why_not_finite(ReplicaPart& part) {
  const std::int64_t row = x.size() / x.samples();
  const std::int64_t first = part.shard.first;
  if (x.dtype() == DType::float32) {
    const float* values = x.data<float>() + first * row;
    const std::int64_t at = first_not_finite(values, part.shard.count * row);
    if (at >= 0) return "x holds " + text_of(values[at]) + " in sample " + std::to_string(first + at / row) + " of the batch";
  }
  if (!weights.empty()) {
    const std::int64_t at = first_not_finite(weights.data<float>() + first, part.shard.count);
    if (at >= 0) return "the weight of sample " + std::to_string(first + at) + " of the batch is not finite";
  }
  if (y.dtype() == DType::float32 && !y.empty()) {
    const std::int64_t width = y.size() / y.samples();
    const std::int64_t at = first_not_finite(y.data<float>() + first * width, part.shard.count * width);
    if (at >= 0) return "y holds a number that is not finite for sample " + std::to_string(first + at / width) + " of the batch";
  }
  const VariableStore& variables = part.replica.variables();
  const OpContext context = part.replica.compute_context();
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
  ops::upload(context, static_cast<const unsigned char*>(x.raw()) + static_cast<std::size_t>(first * row) * size_of(x.dtype()),
              part.program->input());
  context.stream->synchronize();
  std::string culprit;
  part.program->forward(info(part), [&](const LayerImpl& layer, const Tensor& output) {
    if (!culprit.empty()) return;
    const std::vector<float> values = download(context, output);
    const std::int64_t at = first_not_finite(values.data(), output.size());
    if (at < 0) return;
    culprit = "the first layer whose output is not finite is " + layer.class_name() + " \"" + layer.name() + "\" (" +
              text_of(values[static_cast<std::size_t>(at)]) + " for sample " +
              std::to_string(first + at / (output.size() / part.shard.count)) + " of the batch)";
  });
  if (statistics.defined()) {
    ops::upload(context, kept.data(), statistics);
    context.stream->synchronize();
  }
  return culprit.empty() ? "every layer's output is finite, so it is the loss " + loss->name() + " itself that overflows" : culprit;
}

void MirroredStep::require_finite_loss() {
  State& state = *state_;
  for (ReplicaPart& part : state.parts) {
    if (!part.program) continue;
    bool known = false;
    state.serve(static_cast<std::size_t>(part.replica.index()), Phase::local_gradients,
                [&] { known = wait_until_done(part.loss_known, *state.deadline); });
    if (!known) state.wait_for_gpus(Phase::local_gradients);  // says who is late
    if (std::isfinite(part.loss_sum.value())) continue;
    state.wait_for_gpus(Phase::all_reduce);
    const std::string why = state.why_not_finite(part);
    throw Error("The loss is " + text_of(static_cast<float>(part.loss_sum.value())) + " at step " + std::to_string(state.step()) +
                " (replica " + std::to_string(part.replica.index()) + "): " + why +
                ". The weights are those before this step. A smaller learning rate or clipnorm helps where numbers grow step by step.");
  }
}

}  // namespace lockstep
