// Layers that draw: Dropout and RandomFlip. Both hand their input on in inference.
//
// Draws come from Philox, keyed by (seed, layer, step, global index of the sample): they are the same on any number of replicas.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/layer.h"

namespace lockstep {

class DropoutImpl : public LayerImpl {
 public:
  explicit DropoutImpl(float share) : rate(share) {}
  std::string class_name() const override { return "Dropout"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  float rate;
};

class RandomFlipImpl : public LayerImpl {
 public:
  explicit RandomFlipImpl(const std::string& mode);
  std::string class_name() const override { return "RandomFlip"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  bool horizontal = false;
  bool vertical = false;
};

}  // namespace lockstep
