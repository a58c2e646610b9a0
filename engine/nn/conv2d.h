// Conv2D: NHWC images, HWIO kernels, bias and activation behind the convolution.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/nn/window_layer.h"
#include "engine/ops/activation.h"
#include "engine/ops/convolution.h"

namespace lockstep {

class Conv2DImpl : public WindowLayerImpl {
 public:
  Conv2DImpl(int channels, Extent2D kernel, ActivationKind behind) : WindowLayerImpl(kernel, 1), filters(channels), activation(behind) {}

  std::string class_name() const override { return "Conv2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool ends_in_softmax() const override { return activation == ActivationKind::softmax; }
  bool takes_pooling(const LayerImpl& pooling, const Shape& input) const override;

  int filters;
  ActivationKind activation;
  bool use_bias = true;
  Initializer kernel_initializer{Initializer::Kind::glorot_uniform};
  Initializer bias_initializer{Initializer::Kind::zeros};

 private:
  ops::ConvolutionSpec spec(const Shape& images) const;  // with the batch
};

}  // namespace lockstep
