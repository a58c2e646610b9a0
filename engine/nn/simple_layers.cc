#include "simple_layers.h"

#include "activation.h"
#include "elementwise.h"

namespace lockstep {
namespace {

class ReLUOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override {
    if (run.inputs[0].raw() != run.output.raw()) ops::copy(run.op, run.inputs[0], run.output);
    ops::bias_activation(run.op, Tensor(), Activation::relu, run.output);
  }
  void backward(const LayerRun& run) override {
    ops::activation_gradient(run.op, run.output, Activation::relu, run.output_gradient, Tensor());
  }
};

class SoftmaxOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool in_place() const override { return true; }
  void forward(const LayerRun& run) override { ops::softmax(run.op, run.inputs[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::activation_gradient(run.op, run.output, Activation::softmax, run.output_gradient, Tensor());
  }
};

}  // namespace

std::unique_ptr<LayerOp> ReLUImpl::plan(const LayerPlan& /*plan*/) const { return std::make_unique<ReLUOp>(); }

Shape SoftmaxImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (inputs.at(0).rank() < 1) refuse(inputs.at(0), "at least one axis: (classes,)");
  return inputs.at(0);
}

std::unique_ptr<LayerOp> make_softmax_op() { return std::make_unique<SoftmaxOp>(); }

}  // namespace lockstep
