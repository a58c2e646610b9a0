// AveragePooling2D and GlobalAveragePooling2D: means of windows, or of the whole image, channel by channel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/layer.h"
#include "engine/nn/window.h"
#include "lockstep/layers.h"

namespace lockstep {

class AveragePooling2DImpl : public LayerImpl {
 public:
  explicit AveragePooling2DImpl(Extent2D window) : pool(window), strides(window) {}
  std::string class_name() const override { return "AveragePooling2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  Extent2D pool;
  Extent2D strides;
  Padding padding = Padding::valid;
};

class GlobalAveragePooling2DImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "GlobalAveragePooling2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  bool keepdims = false;
};

}  // namespace lockstep
