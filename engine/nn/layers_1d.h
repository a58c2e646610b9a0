// Conv1D and MaxPooling1D: the 2-D layers on images one pixel high.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/conv2d.h"
#include "engine/nn/pooling2d.h"

namespace lockstep {

class Conv1DImpl : public LayerImpl {
 public:
  Conv1DImpl(int filters, int window, ActivationKind behind) : image(filters, Extent2D(1, window), behind) {}

  std::string class_name() const override { return "Conv1D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool ends_in_softmax() const override { return image.ends_in_softmax(); }
  bool takes_pooling(const LayerImpl& pooling, const Shape& input) const override;

  Conv2DImpl image;
};

class MaxPooling1DImpl : public LayerImpl {
 public:
  explicit MaxPooling1DImpl(int window) : image(Extent2D(1, window)) {}

  std::string class_name() const override { return "MaxPooling1D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  MaxPooling2DImpl image;
};

}  // namespace lockstep
