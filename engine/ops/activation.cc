// Bias, activations and their gradients, as launches of our own kernels.
#include "engine/ops/activation.h"

#include "engine/device/launch.h"
#include "engine/kernels/activation_kernels.h"
#include "engine/kernels/smooth_activation_kernels.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_check.h"
#include "engine/ops/pointwise.h"

namespace lockstep {

namespace {

struct NamedActivation {
  ActivationKind kind;
  const char* name;
};
constexpr NamedActivation kActivations[] = {{ActivationKind::linear, "linear"},   {ActivationKind::relu, "relu"},
                                            {ActivationKind::relu6, "relu6"},     {ActivationKind::sigmoid, "sigmoid"},
                                            {ActivationKind::softmax, "softmax"}, {ActivationKind::tanh, "tanh"}};
constexpr float kRelu6Bound = 6;

}  // namespace

ActivationKind parse_activation(const std::string& name) {
  if (name.empty()) return ActivationKind::linear;
  std::string known;
  for (const NamedActivation& each : kActivations) {
    if (name == each.name) return each.kind;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  throw Error("There is no activation \"" + name + "\"; there are: " + known);
}

std::string to_string(ActivationKind activation) {
  for (const NamedActivation& each : kActivations)
    if (activation == each.kind) return each.name;
  return "linear";
}

namespace ops {

void bias_activation(const OpContext& context, const Tensor& bias, ActivationKind activation, const Tensor& y) {
  const auto [rows, columns] = as_matrix(y);
  if (bias.defined()) expect_size("bias_activation", "the bias", bias, columns);
  const bool relu = activation == ActivationKind::relu;
  if (y.size() > 0 && (bias.defined() || relu)) {
    const View<const float> added = bias.defined() ? bias.read() : View<const float>{};
    launch(*context.stream, "bias_activation", kernels::bias_activation_cost(rows, columns), grid_for_rows(rows, columns),
           kernels::bias_activation, added, y.view(), rows, columns, relu);
  }
  if (y.size() == 0) return;
  switch (activation) {
    case ActivationKind::softmax:
      return softmax(context, y, y);
    case ActivationKind::relu6:
      return clip(context, y, y, 0, kRelu6Bound);
    case ActivationKind::sigmoid:
      return launch(*context.stream, "sigmoid", kernels::sigmoid_cost(y.size()), grid_for_elements(y.size()), kernels::sigmoid, y.view());
    case ActivationKind::tanh:
      return launch(*context.stream, "hyperbolic_tangent", kernels::hyperbolic_tangent_cost(y.size()), grid_for_elements(y.size()),
                    kernels::hyperbolic_tangent, y.view());
    default:
      return;
  }
}

std::size_t bias_gradient_scratch(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(kernels::row_chunks(rows) * columns) * sizeof(float);
}

void activation_gradient(const OpContext& context, const Tensor& y, ActivationKind activation, const Tensor& dy, const Tensor& dbias) {
  const auto [rows, columns] = as_matrix(dy);
  if (activation != ActivationKind::linear) expect_size("activation_gradient", "the output", y, dy.size());
  if (dbias.defined()) expect_size("activation_gradient", "the bias gradient", dbias, columns);
  if (dy.size() == 0) {
    if (dbias.defined()) fill(context, 0, dbias);
    return;
  }
  const Stream& stream = *context.stream;
  if (activation == ActivationKind::softmax) {
    launch(stream, "softmax_gradient", kernels::softmax_gradient_cost(rows, columns), grid_for_rows(rows, columns),
           kernels::softmax_gradient, y.read(), dy.view(), rows, columns);
  } else if (activation == ActivationKind::relu6) {
    clip_gradient(context, y, dy, 0, kRelu6Bound);
  } else if (activation == ActivationKind::sigmoid) {
    launch(stream, "sigmoid_gradient", kernels::sigmoid_gradient_cost(dy.size()), grid_for_elements(dy.size()), kernels::sigmoid_gradient,
           y.read(), dy.view());
  } else if (activation == ActivationKind::tanh) {
    launch(stream, "hyperbolic_tangent_gradient", kernels::hyperbolic_tangent_gradient_cost(dy.size()), grid_for_elements(dy.size()),
           kernels::hyperbolic_tangent_gradient, y.read(), dy.view());
  }
  if (!dbias.defined()) {
    if (activation == ActivationKind::relu) {
      launch(stream, "relu_gradient", kernels::relu_gradient_cost(dy.size()), grid_for_elements(dy.size()), kernels::relu_gradient,
             y.read(), dy.view());
    }
    return;
  }
  expect_scratch("activation_gradient", context, bias_gradient_scratch(rows, columns));
  const std::int64_t chunks = kernels::row_chunks(rows);
  // One chunk is the whole sum.
  const View<float> partial = chunks == 1 ? dbias.view() : View<float>{context.scratch.f32(), chunks * columns};
  if (activation == ActivationKind::relu) {
    launch(stream, "relu_bias_gradient", kernels::relu_bias_gradient_cost(rows, columns), grid_for_rows(chunks, columns),
           kernels::relu_bias_gradient, y.read(), dy.view(), partial, rows, columns);
  } else {
    launch(stream, "column_sums", kernels::column_sums_cost(rows, columns), grid_for_rows(chunks, columns), kernels::column_sums, dy.read(),
           partial, rows, columns);
  }
  if (chunks > 1) {
    launch(stream, "add_chunks", kernels::add_chunks_cost(chunks, columns), grid_for_elements(columns), kernels::add_chunks, partial,
           dbias.view(), chunks, columns);
  }
}

void softmax(const OpContext& context, const Tensor& x, const Tensor& y) {
  expect_size("softmax", "the output", y, x.size());
  if (x.size() == 0) return;
  const auto [rows, columns] = as_matrix(x);
  launch(*context.stream, "softmax", kernels::softmax_cost(rows, columns), grid_for_rows(rows, columns), kernels::softmax, x.read(),
         y.view(), rows, columns);
}

}  // namespace ops
}  // namespace lockstep
