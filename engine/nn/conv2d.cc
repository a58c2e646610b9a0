#include "engine/nn/conv2d.h"

#include <algorithm>
#include <utility>

#include "engine/nn/conv_pooling.h"
#include "engine/nn/max_pooling2d.h"

namespace lockstep {
namespace {

class Conv2DOp : public LayerOp {
 public:
  Conv2DOp(LogicalGpu& gpu, const ops::ConvolutionSpec& spec, bool needs_input_gradient, ActivationKind activation, bool use_bias)
      : convolution_(gpu, spec, needs_input_gradient),
        pixels_(spec.batch * spec.out_height() * spec.out_width()),
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

ops::ConvolutionSpec Conv2DImpl::spec(const Shape& image, std::int64_t batch) const {
  ops::ConvolutionSpec s;
  s.batch = batch;
  s.height = image[0], s.width = image[1], s.in_channels = image[2], s.out_channels = filters;
  s.kernel_h = kernel.height, s.kernel_w = kernel.width;
  s.stride_h = strides.height, s.stride_w = strides.width;
  s.dilation_h = dilation.height, s.dilation_w = dilation.width;
  const WindowAxis rows = slide(s.height, s.dilation_h * (s.kernel_h - 1) + 1, s.stride_h, padding);
  const WindowAxis columns = slide(s.width, s.dilation_w * (s.kernel_w - 1) + 1, s.stride_w, padding);
  s.pad_top = rows.before, s.pad_bottom = rows.after, s.pad_left = columns.before, s.pad_right = columns.after;
  return s;
}

Shape Conv2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const auto positive = [](const Extent2D& e) { return e.height > 0 && e.width > 0; };
  if (filters <= 0) refuse_options("filters must be positive, not " + std::to_string(filters));
  if (!positive(kernel) || !positive(strides) || !positive(dilation))
    refuse_options("kernel_size, strides and dilation_rate must be positive");
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (28, 28, 1)");
  const std::int64_t window_h = dilation.height * (kernel.height - 1) + 1;
  const std::int64_t window_w = dilation.width * (kernel.width - 1) + 1;
  const WindowAxis rows = slide(image[0], window_h, strides.height, padding);
  const WindowAxis columns = slide(image[1], window_w, strides.width, padding);
  if (rows.out <= 0 || columns.out <= 0)
    refuse(image, "images at least as large as its window, " + std::to_string(window_h) + " x " + std::to_string(window_w) +
                      ", or padding(\"same\")");
  return Shape{rows.out, columns.out, filters};
}

std::vector<VariableSpec> Conv2DImpl::variables(const std::vector<Shape>& inputs) const {
  std::vector<VariableSpec> specs{{"kernel", Shape{kernel.height, kernel.width, inputs.at(0)[2], filters}, true, kernel_initializer}};
  if (use_bias) specs.push_back({"bias", Shape{filters}, true, bias_initializer});
  return specs;
}

bool Conv2DImpl::takes_pooling(const LayerImpl& pooling, const Shape& input) const {
  const auto* windows = dynamic_cast<const MaxPooling2DImpl*>(&pooling);
  if (windows == nullptr || (activation != ActivationKind::relu && activation != ActivationKind::linear)) return false;
  return ops::ConvolutionPooling::fits(spec(input, 1), windows->spec(output_shape({input}).batched(1)));
}

std::unique_ptr<LayerOp> Conv2DImpl::plan(const LayerPlan& plan) const {
  const Shape& images = plan.inputs.at(0);
  if (plan.pooling != nullptr) return plan_conv_pooling(plan, spec(images.sample(), images[0]), activation, use_bias);
  const ActivationKind here = activation == ActivationKind::softmax ? ActivationKind::linear : activation;
  return std::make_unique<Conv2DOp>(*plan.gpu, spec(images.sample(), images[0]), plan.needs_input_gradient, here, use_bias);
}

}  // namespace lockstep
