// Layers without variables that keep their input's elements in place: Input, Flatten, Reshape, ReLU, Activation, Rescaling,
// Softmax.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/layer.h"
#include "engine/ops/activation.h"

namespace lockstep {

class InputImpl : public LayerImpl {
 public:
  explicit InputImpl(Shape sample) { declare_input(std::move(sample)); }
  std::string class_name() const override { return "InputLayer"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return nullptr; }
  bool is_reshape() const override { return true; }
  bool is_input() const override { return true; }
};

class FlattenImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "Flatten"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override { return Shape{inputs.at(0).size()}; }
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return nullptr; }
  bool is_reshape() const override { return true; }
};

// One extent may be -1: what is left over.
class ReshapeImpl : public LayerImpl {
 public:
  explicit ReshapeImpl(Shape target) : target_shape(std::move(target)) {}
  std::string class_name() const override { return "Reshape"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return nullptr; }
  bool is_reshape() const override { return true; }

  Shape target_shape;
};

class ReLUImpl : public LayerImpl {
 public:
  explicit ReLUImpl(float bound = std::numeric_limits<float>::infinity()) : max_value(bound) {}
  std::string class_name() const override { return "ReLU"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  std::optional<float> relu() const override { return max_value; }

  float max_value;
};

// An activation by its name. A softmax is left to the program, as behind Dense(10, "softmax"); "linear" changes nothing.
class ActivationImpl : public LayerImpl {
 public:
  explicit ActivationImpl(ActivationKind which) : kind(which) {}
  std::string class_name() const override { return "Activation"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  bool is_reshape() const override { return kind == ActivationKind::linear || kind == ActivationKind::softmax; }
  bool ends_in_softmax() const override { return kind == ActivationKind::softmax; }
  std::optional<float> relu() const override;

  ActivationKind kind;
};

// x * scale + offset, such as Rescaling(1 / 127.5F, -1).
class RescalingImpl : public LayerImpl {
 public:
  RescalingImpl(float factor, float shift) : scale(factor), offset(shift) {}
  std::string class_name() const override { return "Rescaling"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;

  float scale, offset;
};

// The layer itself only hands its input on; the program applies the softmax, as behind Dense(10, "softmax").
class SoftmaxImpl : public LayerImpl {
 public:
  std::string class_name() const override { return "Softmax"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan&) const override { return nullptr; }
  bool is_reshape() const override { return true; }
  bool ends_in_softmax() const override { return true; }
};

// What the program puts behind a layer that ends in a softmax.
std::unique_ptr<LayerOp> make_softmax_op();

}  // namespace lockstep
