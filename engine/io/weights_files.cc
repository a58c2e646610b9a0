#include "engine/io/weights_files.h"

#include <algorithm>
#include <map>

namespace lockstep {
namespace {

// Keras numbers layers by class, whatever their names are, so that a file fits a model whose layers got other automatic names.
class ContainerNames {
 public:
  std::string next(const std::string& class_name) {
    const std::string name = automatic_name(class_name);
    const auto [at, first] = used_.emplace(name, 0);
    return first ? name : name + "_" + std::to_string(++at->second);
  }

 private:
  std::map<std::string, int> used_;
};

bool draws(const LayerEntry& layer) { return layer.class_name == "Dropout" || layer.class_name == "RandomFlip"; }

ModelState read_keras3(const hdf5::Reader& file, const Graph& graph, const std::string& layers) {
  ModelState state;
  ContainerNames names;
  for (const LayerEntry& layer : layer_entries(graph)) {
    const std::string group = layers + "/" + names.next(layer.class_name) + "/vars";
    if (layer.variables.empty()) continue;
    if (!file.has_group(group)) file.fail("has no values for layer \"" + layer.name + "\" (group \"" + group + "\")");
    const std::size_t found = file.members(group).size();
    if (found != layer.variables.size())
      file.fail("layer \"" + layer.name + "\" has " + std::to_string(found) + " variables in the file and " +
                std::to_string(layer.variables.size()) + " in the model");
    for (std::size_t i = 0; i < layer.variables.size(); ++i) {
      const VariableSpec& spec = layer.variables[i];
      state.weights.push_back({spec.name, as_variable(file, file.read(group + "/" + std::to_string(i)), spec)});
    }
  }
  std::vector<hdf5::Numbers> values;
  const std::size_t count = file.members("optimizer/vars").size();
  const std::size_t most = 3 + 3 * graph.layout().specs().size();
  if (count > most) file.fail("its optimizer has more values than any we know");
  for (std::size_t i = 0; i < count; ++i) values.push_back(file.read("optimizer/vars/" + std::to_string(i)));
  state.optimizer = parse_optimizer_values(file, graph, std::move(values));
  return state;
}

struct FileLayer {
  std::string group;
  std::vector<std::string> weights;
};

ModelState read_legacy(const hdf5::Reader& file, const Graph& graph) {
  const std::string root = file.has_group("model_weights") ? "model_weights" : "";
  const std::string prefix = root.empty() ? "" : root + "/";
  std::vector<FileLayer> stored;
  std::map<std::string, std::size_t> by_name;
  for (const std::string& name : file.texts(root, "layer_names")) {
    FileLayer layer{prefix + name, file.texts(prefix + name, "weight_names")};
    if (layer.weights.empty()) continue;
    by_name.emplace(name, stored.size());
    stored.push_back(std::move(layer));
  }
  std::vector<LayerEntry> wanted;
  for (LayerEntry& layer : layer_entries(graph))
    if (!layer.variables.empty()) wanted.push_back(std::move(layer));
  const bool all_named = std::all_of(wanted.begin(), wanted.end(), [&](const LayerEntry& layer) { return by_name.count(layer.name) > 0; });
  // Other automatic names, the same layers: by place, as Keras itself does.
  if (!all_named && stored.size() != wanted.size())
    file.fail("has " + std::to_string(stored.size()) + " layers with weights, the model has " + std::to_string(wanted.size()));

  ModelState state;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const LayerEntry& layer = wanted[i];
    const FileLayer& from = stored[all_named ? by_name.at(layer.name) : i];
    if (from.weights.size() != layer.variables.size())
      file.fail("layer \"" + layer.name + "\" has " + std::to_string(from.weights.size()) + " variables in the file and " +
                std::to_string(layer.variables.size()) + " in the model");
    for (std::size_t k = 0; k < layer.variables.size(); ++k)
      state.weights.push_back(
          {layer.variables[k].name, as_variable(file, file.read(from.group + "/" + from.weights[k]), layer.variables[k])});
  }
  std::vector<hdf5::Numbers> values;
  const std::vector<std::string> names = file.texts("optimizer_weights", "weight_names");
  if (names.size() > 3 + 3 * graph.layout().specs().size()) file.fail("its optimizer has more values than any we know");
  for (const std::string& name : names) values.push_back(file.read("optimizer_weights/" + name));
  state.optimizer = parse_optimizer_values(file, graph, std::move(values));
  return state;
}

void write_value(hdf5::Writer& file, const std::string& path, const OptimizerValue& value) {
  if (value.whole) {
    file.write_scalar(path, *value.whole);
  } else {
    file.write(path, value.values);
  }
}

std::string keras_optimizer_name(const std::string& name) { return name == "sgd" ? "SGD" : name; }

}  // namespace

void write_weights(hdf5::Writer& file, const SavedModel& model, const ModelState& state) {
  ContainerNames names;
  std::size_t next = 0;
  const auto open = [&](const std::string& owner, const std::string& name) {
    const std::string group = owner.empty() ? "vars" : owner + "/vars";
    file.group(group);
    file.text(group, "name", name);
    return group;
  };
  open("", model.name);
  file.group("layers");
  if (model.graph->functional()) open("layers/" + names.next("InputLayer"), "input_layer");
  for (const LayerEntry& layer : layer_entries(*model.graph)) {
    const std::string owner = "layers/" + names.next(layer.class_name);
    const std::string group = open(owner, layer.name);
    for (std::size_t i = 0; i < layer.variables.size(); ++i) file.write(group + "/" + std::to_string(i), state.weights.at(next++).values);
    // Keras' generators have a state of two words; ours draw from seed and step alone and need none.
    if (draws(layer)) file.write_words(open(owner + "/seed_generator", "seed_generator") + "/0", {0, 0});
  }
  if (!state.optimizer) return;
  const std::string group = open("optimizer", keras_optimizer_name(model.optimizer));
  int k = 0;
  for (const OptimizerValue& value : optimizer_values(*state.optimizer, *model.graph, ""))
    write_value(file, group + "/" + std::to_string(k++), value);
}

void write_legacy_weights(hdf5::Writer& file, const SavedModel& model, const ModelState& state) {
  const std::string prefix = model.graph->functional() ? "" : model.name + "/";  // as Keras 3 calls its variables
  file.group("model_weights");
  std::vector<std::string> layers;
  if (model.graph->functional()) layers.emplace_back("input_layer");
  const std::vector<LayerEntry> entries = layer_entries(*model.graph);
  for (const LayerEntry& layer : entries) layers.push_back(layer.name);
  file.texts("model_weights", "layer_names", layers);
  file.text("model_weights", "backend", "tensorflow");
  file.text("model_weights", "keras_version", kKerasVersion);
  std::size_t next = 0;
  const auto open = [&](const std::string& name, const std::vector<std::string>& weights) {
    file.group("model_weights/" + name);
    file.texts("model_weights/" + name, "weight_names", weights);
  };
  if (model.graph->functional()) open("input_layer", {});
  for (const LayerEntry& layer : entries) {
    std::vector<std::string> names;
    for (const VariableSpec& spec : layer.variables) names.push_back(prefix + spec.name);
    open(layer.name, names);
    for (const std::string& name : names) file.write("model_weights/" + layer.name + "/" + name, state.weights.at(next++).values);
  }
  open("top_level_model_weights", {});
  if (!state.optimizer) return;
  const std::string owner = keras_optimizer_name(model.optimizer);
  std::vector<std::string> names;
  file.group("optimizer_weights/" + owner);
  for (const OptimizerValue& value : optimizer_values(*state.optimizer, *model.graph, prefix)) {
    names.push_back(owner + "/" + value.name);
    write_value(file, "optimizer_weights/" + names.back(), value);
  }
  file.texts("optimizer_weights", "weight_names", names);
}

ModelState read_weights(const hdf5::Reader& file, const Graph& graph) {
  for (const char* layers : {"layers", "_layer_checkpoint_dependencies"})  // Keras 3.0 used the second
    if (file.has_group(layers)) return read_keras3(file, graph, layers);
  if (file.has_group("model_weights") || !file.texts("", "layer_names").empty()) return read_legacy(file, graph);
  file.fail("is HDF5, but holds no Keras weights");
}

}  // namespace lockstep
