#include "engine/nn/conv2d.h"

#include <algorithm>
#include <utility>

#include "engine/nn/conv_pooling.h"
#include "engine/nn/pooling2d.h"

namespace lockstep {
namespace {

class Conv2DOp : public LayerOp {
 public:
  Conv2DOp(LogicalGpu& gpu, const ops::ConvolutionSpec& spec, bool needs_input_gradient, ActivationKind activation, bool use_bias)
      : convolution_(gpu, spec, needs_input_gradient),
        pixels_(spec.out_pixels()),
        channels_(spec.out_channels),
        activation_(activation),
        use_bias_(use_bias) {}

  std::size_t scratch_bytes() const override {
    return std::max(convolution_.scratch_bytes(), use_bias_ ? ops::bias_gradient_scratch(pixels_, channels_) : 0);
  }
  bool needs_output() const override { return activation_ != ActivationKind::linear; }

  void forward(const LayerRun& run) override {
    convolution_.forward(run.op, run.inputs[0], run.variables[0], run.output);
    if (use_bias_ || activation_ != ActivationKind::linear) ops::bias_activation(run.op, bias(run), activation_, run.output);
  }

  // Bias, filter, then the image: gradients that leave this replica first are made first.
  void backward(const LayerRun& run) override {
    if (use_bias_ || activation_ != ActivationKind::linear)
      ops::activation_gradient(run.op, run.output, activation_, run.output_gradient, use_bias_ ? run.gradients[1] : Tensor());
    if (use_bias_) run.finished(1);
    convolution_.backward_filter(run.op, run.inputs[0], run.output_gradient, run.gradients[0]);
    run.finished(0);
    if (run.input_gradients[0].defined()) convolution_.backward_data(run.op, run.output_gradient, run.variables[0], run.input_gradients[0]);
  }

 private:
  Tensor bias(const LayerRun& run) const { return use_bias_ ? run.variables[1] : Tensor(); }

  ops::Convolution convolution_;
  std::int64_t pixels_;    // of all images together
  std::int64_t channels_;  // of the output
  ActivationKind activation_;
  bool use_bias_;
};

}  // namespace

ops::ConvolutionSpec Conv2DImpl::spec(const Shape& images) const {
  ops::ConvolutionSpec spec;
  slide_over(images, spec);
  spec.in_channels = images[3];
  spec.out_channels = filters;
  return spec;
}

Shape Conv2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (filters <= 0) refuse_options("filters must be positive, not " + std::to_string(filters));
  require_positive("kernel_size, strides and dilation_rate");
  const Shape grid = places(inputs.at(0), "window", "(28, 28, 1)");
  return Shape{grid[0], grid[1], filters};
}

std::vector<VariableSpec> Conv2DImpl::variables(const std::vector<Shape>& inputs) const {
  std::vector<VariableSpec> specs{{"kernel", Shape{window.height, window.width, inputs.at(0)[2], filters}, true, kernel_initializer}};
  if (use_bias) specs.push_back({"bias", Shape{filters}, true, bias_initializer});
  return specs;
}

bool Conv2DImpl::takes_pooling(const LayerImpl& pooling, const Shape& input) const {
  const auto* windows = dynamic_cast<const MaxPooling2DImpl*>(&pooling);
  if (windows == nullptr || (activation != ActivationKind::relu && activation != ActivationKind::linear)) return false;
  return ops::ConvolutionPooling::fits(spec(input.batched(1)), windows->spec(output_shape({input}).batched(1)));
}

std::unique_ptr<LayerOp> Conv2DImpl::plan(const LayerPlan& plan) const {
  const ops::ConvolutionSpec convolution = spec(plan.inputs.at(0));
  if (plan.fused.pooling != nullptr) return plan_conv_pooling(plan, convolution, activation, use_bias);
  const ActivationKind here = activation == ActivationKind::softmax ? ActivationKind::linear : activation;
  return std::make_unique<Conv2DOp>(*plan.gpu, convolution, plan.needs_input_gradient, here, use_bias);
}

}  // namespace lockstep
