#include "engine/nn/simple_layers.h"

#include <cmath>

#include "engine/ops/elementwise.h"
#include "engine/ops/pointwise.h"

namespace lockstep {
namespace {

// A ReLU with an upper bound: clipped to 0 ... max_value, gradients pass strictly between.
class BoundedReLUOp : public LayerOp {
 public:
  explicit BoundedReLUOp(float bound) : bound_(bound) {}
  bool needs_input() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override { ops::clip(run.op, run.inputs[0], run.output, 0, bound_); }
  void backward(const LayerRun& run) override { ops::clip_gradient(run.op, run.output, run.output_gradient, 0, bound_); }

 private:
  float bound_;
};

// In place, and back from the output alone.
class ActivationOp : public LayerOp {
 public:
  explicit ActivationOp(ActivationKind kind) : kind_(kind) {}
  bool needs_input() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override {
    if (run.inputs[0].raw() != run.output.raw()) ops::copy(run.op, run.inputs[0], run.output);
    ops::bias_activation(run.op, Tensor(), kind_, run.output);
  }
  void backward(const LayerRun& run) override { ops::activation_gradient(run.op, run.output, kind_, run.output_gradient, Tensor()); }

 private:
  ActivationKind kind_;
};

class RescalingOp : public LayerOp {
 public:
  RescalingOp(float scale, float offset) : scale_(scale), offset_(offset) {}
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override { ops::scale_and_shift(run.op, run.inputs[0], run.output, scale_, offset_); }
  void backward(const LayerRun& run) override { ops::scale_and_shift(run.op, run.output_gradient, run.input_gradients[0], scale_, 0); }

 private:
  float scale_, offset_;
};

class SoftmaxOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override { ops::softmax(run.op, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::activation_gradient(run.op, run.output, ActivationKind::softmax, run.output_gradient, Tensor());
  }
};

}  // namespace

Shape ReshapeImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& from = inputs.at(0);
  std::vector<std::int64_t> extents(target_shape.extents().begin(), target_shape.extents().end());
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : extents) {
    if (extent == -1 && open == nullptr)
      open = &extent;
    else if (extent > 0)
      known *= extent;
    else
      refuse_options("extents of its target shape must be positive, and one of them may be -1");
  }
  if (open != nullptr && from.size() % known == 0) *open = from.size() / known;
  if (open == nullptr ? known != from.size() : *open <= 0)
    refuse(from, "as many elements as its target shape " + target_shape.str() + " has");
  return Shape(extents);
}

Shape ReLUImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (!(max_value > 0)) refuse_options("max_value must be positive, not " + std::to_string(max_value));
  return inputs.at(0);
}

std::unique_ptr<LayerOp> ReLUImpl::plan(const LayerPlan& /*plan*/) const {
  if (std::isinf(max_value)) return std::make_unique<ActivationOp>(ActivationKind::relu);
  return std::make_unique<BoundedReLUOp>(max_value);
}

Shape ActivationImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (kind == ActivationKind::softmax && inputs.at(0).rank() < 1) refuse(inputs.at(0), "at least one axis: (classes,)");
  return inputs.at(0);
}

std::optional<float> ActivationImpl::relu() const {
  if (kind == ActivationKind::relu) return std::numeric_limits<float>::infinity();
  if (kind == ActivationKind::relu6) return 6.0F;
  return std::nullopt;
}

std::unique_ptr<LayerOp> ActivationImpl::plan(const LayerPlan& /*plan*/) const {
  return is_reshape() ? nullptr : std::make_unique<ActivationOp>(kind);
}

std::unique_ptr<LayerOp> RescalingImpl::plan(const LayerPlan& /*plan*/) const { return std::make_unique<RescalingOp>(scale, offset); }

Shape SoftmaxImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (inputs.at(0).rank() < 1) refuse(inputs.at(0), "at least one axis: (classes,)");
  return inputs.at(0);
}

std::unique_ptr<LayerOp> make_softmax_op() { return std::make_unique<SoftmaxOp>(); }

}  // namespace lockstep
