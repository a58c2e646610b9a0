// Add: the sum of several inputs of one shape, as at the end of a residual block.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/layer.h"

namespace lockstep {

class AddImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "Add"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
};

}  // namespace lockstep
