#include "engine/io/model_state.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<VariableSpec> trainable(const Graph& graph) {
  std::vector<VariableSpec> specs;
  for (const VariableSpec& spec : graph.layout().specs())
    if (spec.trainable) specs.push_back(spec);
  return specs;
}

Array scalar(float value) { return Array(Shape(), std::vector<float>{value}); }

}  // namespace

std::vector<LayerEntry> layer_entries(const Graph& graph) {
  std::vector<LayerEntry> entries;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const LayerImpl& layer = *graph.nodes()[i].layer;
    LayerEntry entry{layer.class_name(), layer.name(), {}};
    const VariableRange own = graph.variables(static_cast<int>(i));
    for (int v = own.first; v < own.end; ++v) entry.variables.push_back(graph.layout().specs()[static_cast<std::size_t>(v)]);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Array as_variable(const hdf5::Reader& file, const hdf5::Numbers& numbers, const VariableSpec& spec) {
  if (numbers.whole) file.fail("\"" + spec.name + "\" holds whole numbers, not weights");
  if (numbers.shape != spec.shape)
    file.fail("\"" + spec.name + "\" has shape " + numbers.shape.str() + ", but the model wants " + spec.shape.str());
  return Array(numbers.shape, numbers.floats);
}

std::optional<OptimizerState> parse_optimizer_values(const hdf5::Reader& file, const Graph& graph, std::vector<hdf5::Numbers> values) {
  if (values.empty()) return std::nullopt;
  const std::vector<VariableSpec> specs = trainable(graph);
  const auto is_scalar = [](const hdf5::Numbers& numbers) { return numbers.shape.rank() == 0; };
  OptimizerState state;
  if (!is_scalar(values.front()) || !values.front().whole || values.front().scalar() < 0) file.fail("its optimizer has no iteration count");
  state.iterations = values.front().integers.front();
  std::size_t first = 1;
  // Keras keeps no learning rate where it follows a schedule, and Keras 2 none at all.
  if (values.size() > 1 && is_scalar(values[1]) && !values[1].whole) state.learning_rate = values[first++].floats.front();
  std::size_t last = values.size();
  while (last > first && is_scalar(values[last - 1]) && !values[last - 1].whole) --last;  // OptimizerImpl::extra_state
  const std::size_t count = last - first;
  if (count > 0 && (specs.empty() || count % specs.size() != 0)) {
    file.fail("its optimizer has " + std::to_string(count) + " values for the model's " + std::to_string(specs.size()) +
              " trainable variables");
  }
  const std::size_t slots = specs.empty() ? 0 : count / specs.size();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    state.slots.emplace_back();
    for (std::size_t k = 0; k < slots; ++k) state.slots.back().push_back(as_variable(file, values[first + i * slots + k], specs[i]));
  }
  return state;
}

std::vector<OptimizerValue> optimizer_values(const OptimizerState& state, const Graph& graph, const std::string& prefix) {
  static const char* const kSlotNames[] = {"momentum", "velocity"};
  std::vector<OptimizerValue> values;
  values.push_back({"iteration", state.iterations, Array()});
  if (state.learning_rate) values.push_back({"learning_rate", std::nullopt, scalar(*state.learning_rate)});
  const std::vector<VariableSpec> specs = trainable(graph);
  for (std::size_t i = 0; i < state.slots.size(); ++i) {
    std::string variable = prefix + specs[i].name;
    std::replace(variable.begin(), variable.end(), '/', '_');
    for (std::size_t k = 0; k < state.slots[i].size(); ++k)
      values.push_back({variable + "_" + kSlotNames[std::min<std::size_t>(k, 1)], std::nullopt, state.slots[i][k]});
  }
  for (const auto& [name, value] : state.extra) values.push_back({name, std::nullopt, scalar(value)});
  return values;
}

}  // namespace lockstep
