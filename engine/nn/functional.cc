#include "engine/nn/functional.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "engine/nn/simple_layers.h"
#include "lockstep/error.h"

namespace lockstep {

const Shape& KerasTensor::shape() const& { return node_->shape; }

Input::operator KerasTensor() const {
  return KerasTensor(std::make_shared<const TensorNode>(TensorNode{impl_, {}, impl_->declared_input().value()}));
}

KerasTensor Layer::operator()(const KerasTensor& input) const { return (*this)(std::vector<KerasTensor>{input}); }

KerasTensor Layer::operator()(const std::vector<KerasTensor>& inputs) const {
  if (inputs.empty()) throw Error("The layer " + impl_->class_name() + " was called without an input");
  TensorNode made{impl_, {}, {}};
  std::vector<Shape> shapes;
  for (const KerasTensor& input : inputs) {
    made.inputs.push_back(input.node());
    shapes.push_back(input.shape());
  }
  made.shape = impl_->output_shape(shapes);
  return KerasTensor(std::make_shared<const TensorNode>(std::move(made)));
}

namespace {

// One walk back from the output: every call once, each after all that it needs.
struct Walk {
  std::vector<const TensorNode*> calls;  // in topological order
  std::map<const TensorNode*, int> met;  // when they were first met, as Keras numbers them
  const LayerImpl* start = nullptr;      // the model's input
  bool reached = false;

  void visit(const TensorNode& at) {
    if (at.layer->is_input()) {
      // An Input makes a tensor whenever it is asked for one: they are the same tensor.
      if (at.layer.get() != start) throw Error("The model's output also depends on an Input that was not given as the model's input");
      reached = true;
      return;
    }
    if (!met.emplace(&at, static_cast<int>(met.size())).second) return;
    for (const auto& input : at.inputs) visit(*input);
    calls.push_back(&at);
  }
};

}  // namespace

std::vector<Node> functional_nodes(const KerasTensor& input, const KerasTensor& output) {
  if (!input.node()->layer->is_input()) throw Error("A model's input must be an Input, such as Input({224, 224, 3})");
  Walk walk;
  walk.start = input.node()->layer.get();
  walk.visit(*output.node());
  if (!walk.reached) throw Error("The model's output does not depend on its input");
  if (walk.calls.empty()) throw Error("A model needs at least one layer");

  std::map<const TensorNode*, int> depth;
  for (auto at = walk.calls.rbegin(); at != walk.calls.rend(); ++at)
    for (const auto& from : (*at)->inputs) depth[from.get()] = std::max(depth[from.get()], depth[*at] + 1);
  std::stable_sort(walk.calls.begin(), walk.calls.end(), [&](const TensorNode* a, const TensorNode* b) {
    return depth[a] != depth[b] ? depth[a] > depth[b] : walk.met[a] < walk.met[b];
  });

  std::map<const TensorNode*, int> place;
  std::vector<Node> nodes;
  for (const TensorNode* call : walk.calls) {
    Node node{call->layer, {}, {}};
    for (const auto& from : call->inputs) node.inputs.push_back(from->layer->is_input() ? -1 : place.at(from.get()));
    place[call] = static_cast<int>(nodes.size());
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace lockstep
