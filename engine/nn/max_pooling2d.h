// MaxPooling2D and GlobalMaxPooling2D: the largest value of each window, or of the whole image, channel by channel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/layer.h"
#include "engine/nn/window.h"
#include "engine/ops/pooling.h"
#include "lockstep/layers.h"

namespace lockstep {

class MaxPooling2DImpl : public LayerImpl {
 public:
  explicit MaxPooling2DImpl(Extent2D window) : pool(window), strides(window) {}

  std::string class_name() const override { return "MaxPooling2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  ops::PoolingSpec spec(const Shape& images) const;  // with the batch

  Extent2D pool;
  Extent2D strides;
  Padding padding = Padding::valid;
};

// One window as large as the image.
class GlobalMaxPooling2DImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "GlobalMaxPooling2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  bool keepdims = false;
};

}  // namespace lockstep
