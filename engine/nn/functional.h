// Functional models: what calling a layer makes, and how a graph is gathered from a model's input and output.
#pragma once

#include <memory>
#include <vector>

#include "engine/nn/graph.h"
#include "lockstep/layers.h"

namespace lockstep {

// A layer called on tensors. An Input's has no inputs.
struct TensorNode {
  std::shared_ptr<LayerImpl> layer;
  std::vector<std::shared_ptr<const TensorNode>> inputs;
  Shape shape;  // of one sample
};

// Everything between input and output, in the order in which Keras lists the layers of a functional model: by depth (the longest way
// to the output, deepest first), then by when they are met on the way back from the output. Inputs are left out.
std::vector<Node> functional_nodes(const KerasTensor& input, const KerasTensor& output);

}  // namespace lockstep
