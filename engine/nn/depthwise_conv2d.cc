#include "engine/nn/depthwise_conv2d.h"

#include <algorithm>

namespace lockstep {
namespace {

class DepthwiseConv2DOp : public LayerOp {
 public:
  DepthwiseConv2DOp(const ops::DepthwiseSpec& spec, ActivationKind activation, bool use_bias)
      : spec_(spec), activation_(activation), use_bias_(use_bias) {}

  std::size_t scratch_bytes() const override {
    const std::int64_t pixels = spec_.batch * spec_.out_height() * spec_.out_width();
    return std::max(ops::depthwise_scratch(spec_), use_bias_ ? ops::bias_gradient_scratch(pixels, spec_.channels * spec_.multiplier) : 0);
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

ops::DepthwiseSpec DepthwiseConv2DImpl::spec(const Shape& image, std::int64_t batch, const ZeroBorder& border) const {
  ops::DepthwiseSpec s;
  s.batch = batch;
  s.height = image[0], s.width = image[1], s.channels = image[2], s.multiplier = depth_multiplier;
  s.kernel_h = kernel.height, s.kernel_w = kernel.width;
  s.stride_h = strides.height, s.stride_w = strides.width;
  s.dilation_h = dilation.height, s.dilation_w = dilation.width;
  const std::int64_t bordered_h = s.height + border.top + border.bottom, bordered_w = s.width + border.left + border.right;
  const WindowAxis rows = slide(bordered_h, s.dilation_h * (s.kernel_h - 1) + 1, s.stride_h, padding);
  const WindowAxis columns = slide(bordered_w, s.dilation_w * (s.kernel_w - 1) + 1, s.stride_w, padding);
  s.pad_top = border.top + rows.before, s.pad_bottom = border.bottom + rows.after;
  s.pad_left = border.left + columns.before, s.pad_right = border.right + columns.after;
  return s;
}

Shape DepthwiseConv2DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const auto positive = [](const Extent2D& e) { return e.height > 0 && e.width > 0; };
  if (depth_multiplier <= 0) refuse_options("depth_multiplier must be positive, not " + std::to_string(depth_multiplier));
  if (!positive(kernel) || !positive(strides) || !positive(dilation))
    refuse_options("kernel_size, strides and dilation_rate must be positive");
  const Shape& image = inputs.at(0);
  if (image.rank() != 3 || image.size() <= 0) refuse(image, "images: (height, width, channels), such as (112, 112, 32)");
  const std::int64_t window_h = dilation.height * (kernel.height - 1) + 1;
  const std::int64_t window_w = dilation.width * (kernel.width - 1) + 1;
  const WindowAxis rows = slide(image[0], window_h, strides.height, padding);
  const WindowAxis columns = slide(image[1], window_w, strides.width, padding);
  if (rows.out <= 0 || columns.out <= 0)
    refuse(image, "images at least as large as its window, " + std::to_string(window_h) + " x " + std::to_string(window_w) +
                      ", or padding(\"same\")");
  return Shape{rows.out, columns.out, image[2] * depth_multiplier};
}

std::vector<VariableSpec> DepthwiseConv2DImpl::variables(const std::vector<Shape>& inputs) const {
  const std::int64_t channels = inputs.at(0)[2];
  std::vector<VariableSpec> specs{{"kernel", Shape{kernel.height, kernel.width, channels, depth_multiplier}, true, depthwise_initializer}};
  if (use_bias) specs.push_back({"bias", Shape{channels * depth_multiplier}, true, bias_initializer});
  return specs;
}

std::unique_ptr<LayerOp> DepthwiseConv2DImpl::plan(const LayerPlan& plan) const {
  const Shape& images = plan.inputs.at(0);
  const ActivationKind here = activation == ActivationKind::softmax ? ActivationKind::linear : activation;
  return std::make_unique<DepthwiseConv2DOp>(spec(images.sample(), images[0], plan.border), here, use_bias);
}

}  // namespace lockstep
