#include "engine/nn/add.h"

#include "engine/ops/elementwise.h"
#include "engine/ops/pointwise.h"

namespace lockstep {
namespace {

class AddOp : public LayerOp {
 public:
  bool needs_input() const override { return false; }
  bool needs_output() const override { return false; }
  bool hands_gradient_on() const override { return true; }

  void forward(const LayerRun& run) override {
    ops::sum_of_two(run.op, run.inputs[0], run.inputs[1], run.output);
    for (std::size_t i = 2; i < run.inputs.size(); ++i) ops::add(run.op, run.inputs[i], run.output);
  }
  void backward(const LayerRun& run) override {
    for (const Tensor& to : run.input_gradients)
      if (to.defined() && to.raw() != run.output_gradient.raw()) ops::copy(run.op, run.output_gradient, to);
  }
};

}  // namespace

Shape AddImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (inputs.size() < 2) refuse_options("it adds at least two inputs; got " + std::to_string(inputs.size()));
  for (const Shape& input : inputs)
    if (input != inputs[0]) refuse(input, "the shape of its first input, " + inputs[0].str());
  return inputs[0];
}

std::unique_ptr<LayerOp> AddImpl::plan(const LayerPlan& /*plan*/) const { return std::make_unique<AddOp>(); }

}  // namespace lockstep
