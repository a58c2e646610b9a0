// Model::save, save_weights, load_weights and load_model: which form a file has, and what of a model goes into it.
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/data/files/zip_archive.h"
#include "engine/io/model_config.h"
#include "engine/io/place_json.h"
#include "engine/io/weights_files.h"
#include "engine/io/zip_writer.h"
#include "engine/train/model_impl.h"
#include "lockstep/model.h"

namespace lockstep {
namespace {

using nlohmann::json;

enum class FileForm { keras, weights, legacy };

FileForm form_of(const std::string& path) {
  if (path.ends_with(".keras")) return FileForm::keras;
  if (path.ends_with(".weights.h5")) return FileForm::weights;
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return FileForm::legacy;
  throw Error(path + ": the name of a model file ends in .keras, .h5 or .weights.h5");
}

OptimizerState optimizer_state(TrainingStep& step, const Graph& graph, const OptimizerImpl& optimizer) {
  OptimizerState state;
  state.iterations = step.iterations();
  if (optimizer.schedule().class_name.empty()) state.learning_rate = optimizer.learning_rate(state.iterations + 1);
  state.extra = optimizer.extra_state(state.iterations);
  const std::vector<VariableSpec>& specs = graph.layout().specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trainable) continue;
    state.slots.emplace_back();
    for (int k = 0; k < optimizer.slots(); ++k) state.slots.back().push_back(step.read(static_cast<int>(i), {VariablePart::Kind::slot, k}));
  }
  return state;
}

void require_slots(const std::string& path, const OptimizerState& state, const OptimizerImpl& optimizer) {
  for (const auto& slots : state.slots) {
    if (static_cast<int>(slots.size()) != optimizer.slots()) {
      throw Error(path + ": its optimizer keeps " + std::to_string(slots.size()) + " values for each weight, but " + optimizer.name() +
                  " keeps " + std::to_string(optimizer.slots()) + ": compile the model with the optimizer it was trained with");
    }
  }
}

void set_optimizer_state(const OptimizerState& state, TrainingStep& step, const Graph& graph, OptimizerImpl& optimizer) {
  const std::vector<VariableSpec>& specs = graph.layout().specs();
  std::size_t trainable = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trainable) continue;
    for (int k = 0; k < optimizer.slots(); ++k)
      step.write(static_cast<int>(i), state.slots.at(trainable)[static_cast<std::size_t>(k)], {VariablePart::Kind::slot, k});
    ++trainable;
  }
  step.variables_changed();
  step.set_iterations(state.iterations);
  if (state.learning_rate.value_or(0) > 0 && !optimizer.follows_schedule()) optimizer.set_learning_rate(*state.learning_rate);
}

const ZipArchive::Member* find(const ZipArchive& archive, const std::string& name) {
  for (const ZipArchive::Member& member : archive.members())
    if (member.name == name) return &member;
  return nullptr;
}

// A small file can claim, and unpack to, thousands of times its size: what no model needs is refused before.
Bytes member(ZipArchive& archive, const std::string& name, std::uint64_t most) {
  const ZipArchive::Member* found = find(archive, name);
  if (found == nullptr) archive.file().fail("is not a .keras file: it has no " + name);
  if (found->size > most)
    archive.file().fail(name + " in it claims " + std::to_string(found->size) + " bytes, more than this model can need (" +
                        std::to_string(most) + "): the file is damaged");
  return archive.read(*found);
}
constexpr std::uint64_t kLargestConfig = std::uint64_t{16} << 20;

hdf5::Reader open_weights(const std::string& path, const Graph& graph) {
  if (form_of(path) != FileForm::keras) return {path, read_whole_file(path)};
  ZipArchive archive(path);
  // Weights, two or three values of the optimizer for each, all in double precision at most; and what the format adds.
  constexpr std::uint64_t kCopies = 8, kFormat = std::uint64_t{16} << 20;
  return {path,
          member(archive, "model.weights.h5", kFormat + kCopies * sizeof(float) * static_cast<std::uint64_t>(graph.layout().parameters()))};
}

json parse_json(const std::string& path, const std::string& text) {
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) throw Error(path + ": its configuration is not JSON: the file is damaged");
  return parsed;
}

// Beyond Keras, kept where Keras does not look: metadata.json of ".keras", an attribute of ".h5".
constexpr const char* kEmbeddingGradients = "lockstep_embedding_gradients";
constexpr const char* kPlace = "lockstep_training_place";  // an attribute of the HDF5 file in all three forms

struct Description {
  json model, training;
  std::string embedding_gradients;  // "keras", or empty
  ConfigForm form = ConfigForm::keras3;
};

Description describe(const std::string& path) {
  if (form_of(path) == FileForm::weights) throw Error(path + ": holds weights only; make the model and call load_weights");
  Description description;
  if (form_of(path) == FileForm::keras) {
    ZipArchive archive(path);
    const Bytes text = member(archive, "config.json", kLargestConfig);
    description.model = parse_json(path, std::string(text.begin(), text.end()));
    if (description.model.is_object()) description.training = description.model.value("compile_config", json());
    if (find(archive, "metadata.json") != nullptr) {
      const Bytes metadata = member(archive, "metadata.json", kLargestConfig);
      const json fields = parse_json(path, std::string(metadata.begin(), metadata.end()));
      if (fields.is_object()) description.embedding_gradients = fields.value(kEmbeddingGradients, "");
    }
    return description;
  }
  const hdf5::Reader file(path, read_whole_file(path));
  const std::string model = file.text("", "model_config"), training = file.text("", "training_config");
  if (model.empty()) file.fail("holds no model, perhaps only weights: make the model and call load_weights");
  description.form = ConfigForm::legacy;
  description.embedding_gradients = file.text("", kEmbeddingGradients);
  description.model = parse_json(path, model);
  if (!training.empty()) description.training = parse_json(path, training);
  return description;
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts = {};
  char text[32] = {};
  if (gmtime_r(&time, &parts) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d@%H:%M:%S", &parts) == 0) return "";
  return text;
}

// Errors inside a file begin with the file's name.
template <typename Function>
auto in_file(const std::string& path, Function function) {
  try {
    return function();
  } catch (const json::exception& error) {
    throw Error(path + ": its configuration is damaged (" + error.what() + ")");
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error(what.compare(0, path.size(), path) == 0 ? what : path + ": " + what);
  }
}

}  // namespace

void Model::save_weights(const std::string& path) const {
  if (form_of(path) != FileForm::weights) throw Error(path + ": save_weights writes files whose names end in .weights.h5");
  save(path);
}

void Model::save(const std::string& path) const {
  const FileForm form = form_of(path);
  impl_->require_built("save");
  const Graph& graph = *impl_->graph;
  ModelState state;
  state.weights = get_weights();
  if (impl_->compiled()) state.optimizer = optimizer_state(*impl_->step, graph, *impl_->optimizer);
  const SavedModel model{&graph, impl_->name, impl_->compiled() ? impl_->optimizer->name() : ""};
  const auto training = [&](ConfigForm config) {
    return training_config(*impl_->optimizer, *impl_->loss, impl_->metrics, impl_->weighted_metrics, impl_->step->iterations() + 1, config);
  };
  const bool squares = impl_->compiled() && impl_->optimizer->sums_squares();
  hdf5::Writer file;
  if (const auto standing = place()) file.text("", kPlace, place_to_json(*standing).dump());
  if (form == FileForm::legacy) {
    file.text("", "backend", "tensorflow");
    file.text("", "keras_version", kKerasVersion);
    file.text("", "model_config", model_config(graph, impl_->name, ConfigForm::legacy).dump());
    if (impl_->compiled()) file.text("", "training_config", training(ConfigForm::legacy).dump());
    if (squares) file.text("", kEmbeddingGradients, "keras");
    write_legacy_weights(file, model, state);
    return write_file_atomically(path, file.finish());
  }
  write_weights(file, model, state);
  if (form == FileForm::weights) return write_file_atomically(path, file.finish());
  json config = model_config(graph, impl_->name, ConfigForm::keras3);
  if (impl_->compiled()) config["compile_config"] = training(ConfigForm::keras3);
  ZipWriter archive;
  json metadata = {{"keras_version", kKerasVersion}, {"date_saved", now()}};
  if (squares) metadata[kEmbeddingGradients] = "keras";
  archive.add("metadata.json", metadata.dump());
  archive.add("config.json", config.dump());
  archive.add("model.weights.h5", file.finish());
  write_file_atomically(path, archive.finish());
}

void Model::load_weights(const std::string& path) {
  impl_->require_built("load_weights");
  std::optional<TrainingPlace> place;
  const ModelState state = in_file(path, [&] {
    const hdf5::Reader file = open_weights(path, *impl_->graph);
    if (const std::string text = file.text("", kPlace); !text.empty()) place = place_from_json(parse_json(path, text));
    return read_weights(file, *impl_->graph);
  });
  const bool resume = impl_->compiled() && state.optimizer;
  if (resume) require_slots(path, *state.optimizer, *impl_->optimizer);
  set_weights(state.weights);
  impl_->place = resume ? place : std::nullopt;
  if (resume) set_optimizer_state(*state.optimizer, *impl_->step, *impl_->graph, *impl_->optimizer);
}

void require_savable(const std::string& path) {
  form_of(path);
  require_writable(path);
}

Model load_model(const std::string& path) {
  return in_file(path, [&] {
    const Description description = describe(path);
    const Architecture architecture = parse_model_config(description.model);
    // Read against the shapes alone first: a file that claims a huge model without its weights never allocates one.
    const Graph graph = architecture.graph();
    read_weights(open_weights(path, graph), graph);
    Model model = architecture.model();
    compile_from_config(model, description.training, description.form, description.embedding_gradients == "keras");
    model.load_weights(path);
    return model;
  });
}

}  // namespace lockstep
