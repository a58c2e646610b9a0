#include "engine/nn/dense.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/nn/program.h"
#include "engine/ops/matmul.h"

namespace lockstep {
namespace {

ops::Matmul::Spec product(std::int64_t m, std::int64_t n, std::int64_t k) {
  ops::Matmul::Spec spec;
  spec.m = m, spec.n = n, spec.k = k;
  return spec;
}

// y (rows x units) = x (rows x in) * kernel (in x units) + bias; dkernel = x' dy; dx = dy kernel'.
class DenseOp : public LayerOp {
 public:
  DenseOp(const LayerPlan& plan, std::int64_t rows, std::int64_t in, std::int64_t units, ActivationKind activation, bool use_bias)
      : rows_(rows), in_(in), units_(units), activation_(activation), use_bias_(use_bias), forward_(*plan.gpu, forward_spec()) {
    if (plan.mode != Mode::training) return;
    ops::Matmul::Spec kernel = product(in, units, rows);
    kernel.transpose_a = true;
    kernel_gradient_.emplace(*plan.gpu, kernel);
    if (!plan.needs_input_gradient) return;
    ops::Matmul::Spec input = product(rows, in, units);
    input.transpose_b = true;
    input_gradient_.emplace(*plan.gpu, input);
  }

  std::size_t scratch_bytes() const override {
    std::size_t bytes = forward_.scratch_bytes();
    if (kernel_gradient_) bytes = std::max({bytes, kernel_gradient_->scratch_bytes(), ops::bias_gradient_scratch(rows_, units_)});
    if (input_gradient_) bytes = std::max(bytes, input_gradient_->scratch_bytes());
    return bytes;
  }
  bool needs_output() const override { return activation_ != ActivationKind::linear; }

  void forward(const LayerRun& run) override {
    const Tensor y = run.output.reshaped({rows_, units_});
    forward_.run(run.op, run.inputs[0].reshaped({rows_, in_}), run.variables[0], use_bias_ ? run.variables[1] : Tensor(), y);
    // A bias, and a ReLU behind it, come with the product; every other activation is a pass of its own.
    const bool done = activation_ == ActivationKind::linear || (use_bias_ && activation_ == ActivationKind::relu);
    if (!done) ops::bias_activation(run.op, Tensor(), activation_, y);
  }

  void backward(const LayerRun& run) override {
    const Tensor dy = run.output_gradient.reshaped({rows_, units_});
    if (use_bias_ || activation_ != ActivationKind::linear) {
      const Tensor y = run.output.defined() ? run.output.reshaped({rows_, units_}) : Tensor();
      ops::activation_gradient(run.op, y, activation_, dy, use_bias_ ? run.gradients[1] : Tensor());
    }
    if (use_bias_) run.finished(1);
    kernel_gradient_->run(run.op, run.inputs[0].reshaped({rows_, in_}), dy, Tensor(), run.gradients[0]);
    run.finished(0);
    if (run.input_gradients[0].defined())
      input_gradient_->run(run.op, dy, run.variables[0], Tensor(), run.input_gradients[0].reshaped({rows_, in_}));
  }

 private:
  ops::Matmul::Spec forward_spec() const {
    ops::Matmul::Spec spec = product(rows_, units_, in_);
    spec.bias = use_bias_;
    spec.relu = use_bias_ && activation_ == ActivationKind::relu;
    return spec;
  }

  std::int64_t rows_, in_, units_;
  ActivationKind activation_;
  bool use_bias_;
  ops::Matmul forward_;
  std::optional<ops::Matmul> kernel_gradient_, input_gradient_;
};

}  // namespace

Shape DenseImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (units <= 0) refuse_options("units must be positive, not " + std::to_string(units));
  const Shape& x = inputs.at(0);
  if (x.rank() < 1 || x.size() <= 0) refuse(x, "at least one axis: (features,)");
  std::vector<std::int64_t> extents = x.extents();
  extents.back() = units;
  return Shape(std::move(extents));
}

std::vector<VariableSpec> DenseImpl::variables(const std::vector<Shape>& inputs) const {
  std::vector<VariableSpec> specs{{"kernel", Shape{inputs.at(0)[-1], units}, true, kernel_initializer}};
  if (use_bias) specs.push_back({"bias", Shape{units}, true, bias_initializer});
  return specs;
}

std::unique_ptr<LayerOp> DenseImpl::plan(const LayerPlan& plan) const {
  const Shape& x = plan.inputs.at(0);
  const ActivationKind here = activation == ActivationKind::softmax ? ActivationKind::linear : activation;
  return std::make_unique<DenseOp>(plan, x.size() / x[-1], x[-1], units, here, use_bias);
}

}  // namespace lockstep
