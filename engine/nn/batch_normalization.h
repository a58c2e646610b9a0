// BatchNormalization along the last axis, with Keras' defaults and formulas.
//
// Training normalises with the mean and (biased) variance of this replica's samples and lets them into the moving statistics; inference
// normalises with those. Moving statistics are state, not weights: after every step the replicas' copies are averaged, weighted by
// samples, so they stay mirrored. Because a moving update is linear this equals averaging when they are read, as Keras 2 does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/nn/layer.h"

namespace lockstep {

class BatchNormalizationImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "BatchNormalization"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool takes_relu() const override { return true; }
  bool sums_over_replicas() const override { return synchronized; }

  float momentum = 0.99F;
  float epsilon = 1e-3F;
  bool center = true;
  bool scale = true;
  // Statistics of the global batch in place of this replica's samples: one more message forward and one backward for each such layer, and
  // training then does not depend on how many replicas there are.
  bool synchronized = false;
};

}  // namespace lockstep
