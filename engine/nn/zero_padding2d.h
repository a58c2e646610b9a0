// ZeroPadding2D: zeros around an image, as many on each side as was said.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/layer.h"

namespace lockstep {

class ZeroPadding2DImpl : public LayerImpl {
 public:
  ZeroPadding2DImpl(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
  std::string class_name() const override { return "ZeroPadding2D"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  std::optional<ZeroBorder> border() const override { return ZeroBorder{top, bottom, left, right}; }

  int top, bottom, left, right;
};

}  // namespace lockstep
