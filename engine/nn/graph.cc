#include "engine/nn/graph.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <regex>
#include <set>
#include <utility>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// Given names stay; the others are numbered per class in order, skipping names that are taken.
void name_layers(const std::vector<Node>& nodes) {
  std::set<std::string> taken;
  std::set<const LayerImpl*> seen;
  for (const Node& node : nodes) {
    if (!node.layer) throw Error("A model has an empty layer in it");
    if (!seen.insert(node.layer.get()).second)
      throw Error("The layer " + node.layer->class_name() + " \"" + node.layer->name() + "\" stands twice in the model: make two layers");
    if (node.layer->name_given() && !taken.insert(node.layer->name()).second)
      throw Error("Two layers are named \"" + node.layer->name() + "\": names must be unique in a model");
  }
  std::map<std::string, int> count;
  for (const Node& node : nodes) {
    if (node.layer->name_given()) continue;
    const std::string base = automatic_name(node.layer->class_name());
    std::string name;
    do {
      const int k = count[base]++;
      name = k == 0 ? base : base + "_" + std::to_string(k);
    } while (!taken.insert(name).second);
    node.layer->set_automatic_name(std::move(name));
  }
}

void check_edges(const std::vector<Node>& nodes) {
  std::vector<bool> used(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].inputs.empty()) throw Error("The layer \"" + nodes[i].layer->name() + "\" has no input");
    for (const int from : nodes[i].inputs) {
      if (from < -1 || from >= static_cast<int>(i))
        throw Error("The layer \"" + nodes[i].layer->name() + "\" takes its input from a layer that comes later");
      if (from >= 0) used[static_cast<std::size_t>(from)] = true;
    }
  }
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i)
    if (!used[i]) throw Error("The layer \"" + nodes[i].layer->name() + "\" leads nowhere: no layer takes its output");
}

}  // namespace

// The three substitutions Keras makes.
std::string automatic_name(const std::string& class_name) {
  std::string name = std::regex_replace(class_name, std::regex("\\W+"), "");
  name = std::regex_replace(name, std::regex("(.)([A-Z][a-z]+)"), "$1_$2");
  name = std::regex_replace(name, std::regex("([a-z])([A-Z])"), "$1_$2");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

DType Graph::input_type() const {
  for (const Node& node : nodes_)
    if (std::find(node.inputs.begin(), node.inputs.end(), -1) != node.inputs.end()) return node.layer->input_type();
  return DType::float32;
}

Graph Graph::chain(const std::vector<std::shared_ptr<LayerImpl>>& layers, const Shape& input) {
  Shape sample = input;
  std::vector<Node> nodes;
  for (const std::shared_ptr<LayerImpl>& layer : layers) {
    if (!layer) throw Error("A model has an empty layer in it");
    if (nodes.empty() && layer->declared_input()) {
      const Shape& declared = *layer->declared_input();
      if (sample.rank() == 0) sample = declared;
      if (sample != declared)
        throw Error("The first layer declares samples of shape " + declared.str() + ", but they have " + sample.str());
    }
    if (layer->is_input()) {
      if (!nodes.empty()) throw Error("Input stands behind \"" + nodes.back().layer->class_name() + "\": it can only come first");
      continue;
    }
    nodes.push_back({layer, {static_cast<int>(nodes.size()) - 1}, {}});
  }
  if (sample.rank() == 0)
    throw Error("The model does not know the shape of its samples: start with Input({28, 28, 1}), or give the first layer an input_shape");
  return build(std::move(nodes), sample);
}

Graph Graph::build(std::vector<Node> nodes, const Shape& input, bool functional) {
  if (nodes.empty()) throw Error("A model needs at least one layer");
  name_layers(nodes);
  check_edges(nodes);
  Graph graph;
  graph.input_ = input;
  graph.functional_ = functional;
  std::vector<VariableSpec> specs;
  std::vector<std::vector<int>> ready;  // by node
  for (Node& node : nodes) {
    std::vector<Shape> inputs;
    for (const int from : node.inputs) inputs.push_back(from < 0 ? input : nodes[static_cast<std::size_t>(from)].output);
    node.output = node.layer->output_shape(inputs);
    std::vector<VariableSpec> own = node.layer->variables(inputs);
    if (!node.layer->trainable())
      for (VariableSpec& spec : own) spec.trainable = false, spec.frozen = true;
    const int first = static_cast<int>(specs.size());
    graph.first_variable_.push_back(first);
    ready.emplace_back();
    for (const int k : node.layer->ready_order(own)) ready.back().push_back(first + k);
    for (VariableSpec& spec : own) {
      spec.name = node.layer->name() + "/" + spec.name;
      specs.push_back(std::move(spec));
    }
  }
  graph.first_variable_.push_back(static_cast<int>(specs.size()));
  std::vector<int> ready_order;
  for (const std::vector<int>& node : std::views::reverse(ready)) ready_order.insert(ready_order.end(), node.begin(), node.end());
  graph.layout_ = std::make_shared<const VariableLayout>(std::move(specs), std::move(ready_order));
  graph.nodes_ = std::move(nodes);
  return graph;
}

}  // namespace lockstep
