#include "engine/nn/layers_1d.h"

namespace lockstep {
namespace {

Shape as_image(const Shape& sequence) { return Shape{1, sequence[0], sequence[1]}; }

// The batch's shapes as images; elements lie the same way, so tensors need no other change.
LayerPlan as_images(LayerPlan plan) {
  for (Shape& x : plan.inputs) x = as_image(x.sample()).batched(x[0]);
  plan.output = as_image(plan.output.sample()).batched(plan.output[0]);
  if (const auto* pooling = dynamic_cast<const MaxPooling1DImpl*>(plan.fused.pooling)) plan.fused.pooling = &pooling->image;
  return plan;
}

constexpr const char* kSequences = "sequences: (steps, channels), such as (300, 7)";

}  // namespace

Shape Conv1DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = inputs.at(0);
  if (x.rank() != 2 || x.size() <= 0) refuse(x, kSequences);
  if (image.filters <= 0) refuse_options("filters must be positive, not " + std::to_string(image.filters));
  if (image.window.width <= 0 || image.strides.width <= 0 || image.dilation.width <= 0)
    refuse_options("kernel_size, strides and dilation_rate must be positive");
  const std::int64_t window = std::int64_t{image.dilation.width} * (image.window.width - 1) + 1;
  const WindowAxis steps = slide(x[0], window, image.strides.width, image.padding);
  if (steps.out <= 0) refuse(x, "at least as many steps as its window, " + std::to_string(window) + ", or padding(\"same\")");
  return Shape{steps.out, image.filters};
}

std::vector<VariableSpec> Conv1DImpl::variables(const std::vector<Shape>& inputs) const {
  std::vector<VariableSpec> specs = image.variables({as_image(inputs.at(0))});
  specs[0].shape = Shape{image.window.width, inputs.at(0)[1], image.filters};
  return specs;
}

bool Conv1DImpl::takes_pooling(const LayerImpl& pooling, const Shape& input) const {
  const auto* windows = dynamic_cast<const MaxPooling1DImpl*>(&pooling);
  return windows != nullptr && image.takes_pooling(windows->image, as_image(input));
}

std::unique_ptr<LayerOp> Conv1DImpl::plan(const LayerPlan& plan) const { return image.plan(as_images(plan)); }

Shape MaxPooling1DImpl::output_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = inputs.at(0);
  if (x.rank() != 2 || x.size() <= 0) refuse(x, kSequences);
  if (image.window.width <= 0 || image.strides.width <= 0) refuse_options("pool_size and strides must be positive");
  const WindowAxis steps = slide(x[0], image.window.width, image.strides.width, image.padding);
  if (steps.out <= 0) refuse(x, "at least as many steps as its pool, " + std::to_string(image.window.width) + ", or padding(\"same\")");
  return Shape{steps.out, x[1]};
}

std::unique_ptr<LayerOp> MaxPooling1DImpl::plan(const LayerPlan& plan) const { return image.plan(as_images(plan)); }

}  // namespace lockstep
