// Everything a file keeps of a model's values, on the host: variables layer by layer, and the optimizer's own in Keras' order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/hdf5_file.h"
#include "engine/nn/graph.h"
#include "lockstep/model.h"

namespace lockstep {

// The layers of a graph in Keras' order, with what their variables are called and how they are shaped.
struct LayerEntry {
  std::string class_name;
  std::string name;
  std::vector<VariableSpec> variables;  // names with the layer: "conv2d/kernel"
};
std::vector<LayerEntry> layer_entries(const Graph& graph);

// Keras keeps an optimizer as one list of values: iteration, learning rate, then for each trainable variable its slots (Adam: momentum and
// velocity), and what OptimizerImpl::extra_state names at the end.
struct OptimizerState {
  std::int64_t iterations = 0;
  std::optional<float> learning_rate;     // none where it follows a schedule that the file describes
  std::vector<std::vector<Array>> slots;  // [trainable variable][slot]
  std::vector<std::pair<std::string, float>> extra;
};

struct ModelState {
  std::vector<NamedArray> weights;  // in Keras' order
  std::optional<OptimizerState> optimizer;
};

// A list of values as a file has it, cut into what it means for this graph; an Error where numbers or shapes do not fit. None when the
// list is empty: an optimizer that has not begun.
std::optional<OptimizerState> parse_optimizer_values(const hdf5::Reader& file, const Graph& graph, std::vector<hdf5::Numbers> values);

// Floats of this shape, or an Error that names the variable.
Array as_variable(const hdf5::Reader& file, const hdf5::Numbers& numbers, const VariableSpec& spec);

// One optimizer value to be written, under the names Keras gives them.
struct OptimizerValue {
  std::string name;  // "iteration", "sequential_conv2d_kernel_momentum"
  std::optional<std::int64_t> whole;
  Array values;  // where it is not whole; a scalar has no axes
};
std::vector<OptimizerValue> optimizer_values(const OptimizerState& state, const Graph& graph, const std::string& prefix);

}  // namespace lockstep
