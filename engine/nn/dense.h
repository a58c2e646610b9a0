// Dense: activation(x * kernel + bias) along the last axis; all axes before it count as rows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/nn/layer.h"
#include "engine/ops/activation.h"

namespace lockstep {

class DenseImpl : public LayerImpl {
 public:
  DenseImpl(int outputs, ActivationKind behind) : units(outputs), activation(behind) {}

  std::string class_name() const override { return "Dense"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool ends_in_softmax() const override { return activation == ActivationKind::softmax; }

  int units;
  ActivationKind activation;
  bool use_bias = true;
  Initializer kernel_initializer{Initializer::Kind::glorot_uniform};
  Initializer bias_initializer{Initializer::Kind::zeros};
};

}  // namespace lockstep
