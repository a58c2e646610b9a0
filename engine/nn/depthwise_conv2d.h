// DepthwiseConv2D: every channel is convolved with its own `depth_multiplier` filters. NHWC images, kernels (height, width, channels,
// multiplier) as Keras keeps them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/nn/window_layer.h"
#include "engine/ops/activation.h"
#include "engine/ops/depthwise.h"

namespace lockstep {

class DepthwiseConv2DImpl : public WindowLayerImpl {
 public:
  DepthwiseConv2DImpl(Extent2D kernel, ActivationKind behind) : WindowLayerImpl(kernel, 1), activation(behind) {}

  std::string class_name() const override { return "DepthwiseConv2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool takes_border() const override { return true; }
  bool ends_in_softmax() const override { return activation == ActivationKind::softmax; }

  ActivationKind activation;
  int depth_multiplier = 1;
  bool use_bias = true;
  Initializer depthwise_initializer{Initializer::Kind::glorot_uniform};
  Initializer bias_initializer{Initializer::Kind::zeros};

 private:
  ops::DepthwiseSpec spec(const Shape& images, const ZeroBorder& border) const;
};

}  // namespace lockstep
