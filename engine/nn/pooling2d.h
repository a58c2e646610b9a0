// MaxPooling2D and AveragePooling2D: the largest value or the mean of each window, channel by channel; and the same of the whole image.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/window_layer.h"
#include "engine/ops/pooling.h"

namespace lockstep {

class Pooling2DImpl : public WindowLayerImpl {
 public:
  explicit Pooling2DImpl(Extent2D pool) : WindowLayerImpl(pool, pool) {}
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  ops::PoolingSpec spec(const Shape& images) const;  // with the batch
};

class MaxPooling2DImpl : public Pooling2DImpl {
 public:
  using Pooling2DImpl::Pooling2DImpl;
  std::string class_name() const override { return "MaxPooling2D"; }
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
};

// Padding is not counted, as in TensorFlow.
class AveragePooling2DImpl : public Pooling2DImpl {
 public:
  using Pooling2DImpl::Pooling2DImpl;
  std::string class_name() const override { return "AveragePooling2D"; }
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
};

class GlobalPooling2DImpl : public LayerImpl {
 public:
  Shape output_shape(const std::vector<Shape>& inputs) const override;

  bool keepdims = false;
};

// One window as large as the image.
class GlobalMaxPooling2DImpl : public GlobalPooling2DImpl {
 public:
  std::string class_name() const override { return "GlobalMaxPooling2D"; }
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
};

class GlobalAveragePooling2DImpl : public GlobalPooling2DImpl {
 public:
  std::string class_name() const override { return "GlobalAveragePooling2D"; }
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
};

}  // namespace lockstep
