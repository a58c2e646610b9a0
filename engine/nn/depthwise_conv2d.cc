#include "engine/nn/depthwise_conv2d.h"

#include <algorithm>

namespace lockstep {
namespace {

class DepthwiseConv2DOp : public LayerOp {
 public:
  DepthwiseConv2DOp(const ops::DepthwiseSpec& spec, ActivationKind activation, bool use_bias)
      : spec_(spec), activation_(activation), use_bias_(use_bias) {}

  std::size_t scratch_bytes() const override {
    return std::max(ops::depthwise_scratch(spec_),
                    use_bias_ ? ops::bias_gradient_scratch(spec_.out_pixels(), spec_.channels * spec_.multiplier) : 0);
  }
  bool needs_output() const override { return activation_ != ActivationKind::linear; }

  void forward(const LayerRun& run) override {
    ops::depthwise_forward(run.op, spec_, run.inputs[0], run.variables[0], run.output);
    if (has_tail()) ops::bias_activation(run.op, use_bias_ ? run.variables[1] : Tensor(), activation_, run.output);
  }

  void backward(const LayerRun& run) override {
    if (has_tail()) ops::activation_gradient(run.op, run.output, activation_, run.output_gradient, use_bias_ ? run.gradients[1] : Tensor());
    if (use_bias_) run.finished(1);
    ops::depthwise_backward_filter(run.op, spec_, run.inputs[0], run.output_gradient, run.gradients[0]);
    run.finished(0);
    if (run.input_gradients[0].defined())
      ops::depthwise_backward_data(run.op, spec_, run.output_gradient, run.variables[0], run.input_gradients[0]);
  }

 private:
  bool has_tail() const { return use_bias_ || activation_ != ActivationKind::linear; }

  ops::DepthwiseSpec spec_;
  ActivationKind activation_;
  bool use_bias_;
};

}  // namespace

ops::DepthwiseSpec DepthwiseConv2DImpl::spec(const Shape& images, const ZeroBorder& border) const {
  ops::DepthwiseSpec spec;
  slide_over(images, spec, border);
  spec.channels = images[3];
  spec.multiplier = depth_multiplier;
  return spec;
}

Shape DepthwiseConv2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (depth_multiplier <= 0) refuse_options("depth_multiplier must be positive, not " + std::to_string(depth_multiplier));
  require_positive("kernel_size, strides and dilation_rate");
  const Shape grid = places(inputs.at(0), "window", "(112, 112, 32)");
  return Shape{grid[0], grid[1], inputs[0][2] * depth_multiplier};
}

std::vector<VariableSpec> DepthwiseConv2DImpl::variables(const std::vector<Shape>& inputs) const {
  const std::int64_t channels = inputs.at(0)[2];
  std::vector<VariableSpec> specs{{"kernel", Shape{window.height, window.width, channels, depth_multiplier}, true, depthwise_initializer}};
  if (use_bias) specs.push_back({"bias", Shape{channels * depth_multiplier}, true, bias_initializer});
  return specs;
}

std::unique_ptr<LayerOp> DepthwiseConv2DImpl::plan(const LayerPlan& plan) const {
  const ActivationKind here = activation == ActivationKind::softmax ? ActivationKind::linear : activation;
  return std::make_unique<DepthwiseConv2DOp>(spec(plan.inputs.at(0), plan.fused.border), here, use_bias);
}

}  // namespace lockstep
