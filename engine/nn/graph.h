// Layers joined into a graph with static shapes: what a model is before it lives on a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/layer.h"
#include "engine/nn/variables.h"
#include "lockstep/shape.h"

namespace lockstep {

struct Node {
  std::shared_ptr<LayerImpl> layer;
  std::vector<int> inputs;  // nodes; -1 is the model's input
  Shape output;             // of one sample
};

// The variables of one layer, which are consecutive in the layout: first, ..., end - 1.
struct VariableRange {
  int first = 0, end = 0;
};

class Graph {
 public:
  // A chain. `input` is one sample's shape; an empty one is taken from the first layer's input_shape. Names layers as Keras
  // does ("conv2d", "dense", "dense_1"). Wrong shapes are Errors that name the layer, what it got and what it wants.
  static Graph chain(const std::vector<std::shared_ptr<LayerImpl>>& layers, const Shape& input);
  // Any graph whose nodes stand in topological order; the last one is the output. Node::output is filled in.
  // `functional`: it was made from an Input, which the summary shows.
  static Graph build(std::vector<Node> nodes, const Shape& input, bool functional = false);

  const Shape& input() const { return input_; }
  DType input_type() const;  // what the layers at the input take
  bool functional() const { return functional_; }
  const Shape& output() const { return nodes_.back().output; }
  const std::vector<Node>& nodes() const { return nodes_; }  // in topological order
  const VariableLayout& layout() const { return *layout_; }
  int first_variable(int node) const { return first_variable_[static_cast<std::size_t>(node)]; }
  VariableRange variables(int node) const { return {first_variable(node), first_variable(node + 1)}; }

 private:
  Shape input_;
  bool functional_ = false;
  std::vector<Node> nodes_;
  std::vector<int> first_variable_;  // one more than nodes
  std::shared_ptr<const VariableLayout> layout_;
};

// Keras' automatic name for a class: "MaxPooling2D" -> "max_pooling2d", "ReLU" -> "re_lu".
std::string automatic_name(const std::string& class_name);

}  // namespace lockstep
