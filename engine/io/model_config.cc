#include "engine/io/model_config.h"

#include <map>

#include "engine/io/layer_config.h"
#include "engine/losses/dense_loss.h"
#include "engine/losses/sparse_categorical_crossentropy.h"
#include "engine/nn/functional.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLayers = 100000;

json wrapped(const std::string& class_name, json config, const char* module, ConfigForm form) {
  json object = {{"class_name", class_name}, {"config", std::move(config)}};
  if (form == ConfigForm::keras3) object.update({{"module", module}, {"registered_name", nullptr}});
  return object;
}

json input_layer(const Graph& graph) {
  return {{"batch_shape", batch_shape(graph.input())},
          {"dtype", graph.input_type() == DType::int32 ? "int32" : "float32"},
          {"sparse", false},
          {"ragged", false},
          {"name", "input_layer"},
          {"optional", false}};
}

const Shape& input_shape(const Graph& graph, int node) {
  return node < 0 ? graph.input() : graph.nodes()[static_cast<std::size_t>(node)].output;
}

// Keras builds a layer for this shape before it loads the variables.
void add_build_config(json& object, const Graph& graph, const Node& node, ConfigForm form) {
  if (form != ConfigForm::keras3) return;
  json shape = json::array();
  for (const int input : node.inputs) shape.push_back(batch_shape(input_shape(graph, input)));
  object["build_config"] = {{"input_shape", node.inputs.size() == 1 ? shape.at(0) : shape}};
}

json sequential_config(const Graph& graph, const std::string& name, ConfigForm form) {
  json layers = json::array({wrapped("InputLayer", input_layer(graph), "keras.layers", form)});
  for (const Node& node : graph.nodes()) {
    json layer = wrapped(node.layer->class_name(), layer_config(*node.layer), "keras.layers", form);
    add_build_config(layer, graph, node, form);
    layers.push_back(std::move(layer));
  }
  return {{"name", name},
          {"trainable", true},
          {"dtype", float32_policy()},
          {"layers", layers},
          {"build_input_shape", batch_shape(graph.input())}};
}

std::string node_name(const Graph& graph, int node) {
  return node < 0 ? "input_layer" : graph.nodes()[static_cast<std::size_t>(node)].layer->name();
}

json keras_tensor(const Graph& graph, int node) {
  return {{"class_name", "__keras_tensor__"},
          {"config",
           {{"shape", batch_shape(input_shape(graph, node))}, {"dtype", "float32"}, {"keras_history", {node_name(graph, node), 0, 0}}}}};
}

json functional_config(const Graph& graph, const std::string& name, ConfigForm form) {
  json first = wrapped("InputLayer", input_layer(graph), "keras.layers", form);
  first.update({{"name", "input_layer"}, {"inbound_nodes", json::array()}});
  json layers = json::array({first});
  for (const Node& node : graph.nodes()) {
    json layer = wrapped(node.layer->class_name(), layer_config(*node.layer), "keras.layers", form);
    add_build_config(layer, graph, node, form);
    json inputs = json::array();
    for (const int input : node.inputs) inputs.push_back(keras_tensor(graph, input));
    const json arguments = node.inputs.size() == 1 ? inputs : json::array({inputs});  // several: one argument, a list
    layer.update({{"name", node.layer->name()}, {"inbound_nodes", json::array({{{"args", arguments}, {"kwargs", json::object()}}})}});
    layers.push_back(std::move(layer));
  }
  return {{"name", name},
          {"trainable", true},
          {"dtype", float32_policy()},
          {"layers", layers},
          {"input_layers", json::array({json::array({"input_layer", 0, 0})})},
          {"output_layers", json::array({json::array({graph.nodes().back().layer->name(), 0, 0})})}};
}

// Names of the layers a node takes its inputs from, in Keras 3's form and in Keras 2's ([["conv1", 0, 0, {}], ...]).
void collect_inputs(const json& value, std::vector<std::string>& names) {
  if (value.is_object()) {
    if (value.contains("keras_history") || (value.contains("config") && value.at("config").contains("keras_history"))) {
      const json& history = value.contains("keras_history") ? value.at("keras_history") : value.at("config").at("keras_history");
      names.push_back(history.at(0).get<std::string>());
    } else if (value.contains("args")) {
      collect_inputs(value.at("args"), names);
    }
  } else if (value.is_array()) {
    if (value.size() >= 3 && value.at(0).is_string() && value.at(1).is_number()) {
      names.push_back(value.at(0).get<std::string>());
      return;
    }
    for (const json& part : value) collect_inputs(part, names);
  }
}

std::string end_name(const json& ends) {
  std::vector<std::string> names;
  collect_inputs(ends, names);
  if (names.size() != 1) throw Error("models with one input and one output are supported");
  return names.front();
}

std::string layer_name(const json& layer) {
  return layer.contains("name") ? layer.at("name").get<std::string>() : layer.at("config").at("name").get<std::string>();
}

Architecture parse_functional(const json& config) {
  Architecture architecture;
  std::map<std::string, KerasTensor> tensors;
  const json& layers = config.at("layers");
  // Keras lists layers so that inputs stand before what takes them; where a file does not, another round finds them.
  std::vector<const json*> waiting;
  for (const json& layer : layers) waiting.push_back(&layer);
  while (!waiting.empty()) {
    std::vector<const json*> later;
    for (const json* layer : waiting) {
      std::vector<std::string> names;
      collect_inputs(layer->value("inbound_nodes", json::array()), names);
      std::vector<KerasTensor> inputs;
      for (const std::string& name : names)
        if (const auto found = tensors.find(name); found != tensors.end()) inputs.push_back(found->second);
      if (inputs.size() != names.size()) {
        later.push_back(layer);
        continue;
      }
      const std::string class_name = layer->at("class_name").get<std::string>();
      const Layer made = layer_from_config(class_name, layer->at("config"));
      if (class_name == "InputLayer") {
        KerasTensor tensor = Input(*made.impl()->declared_input());
        tensors.emplace(layer_name(*layer), tensor);
      } else if (inputs.empty()) {
        throw Error("layer \"" + layer_name(*layer) + "\" has no input");
      } else {
        tensors.emplace(layer_name(*layer), inputs.size() == 1 ? made(inputs.front()) : made(inputs));
      }
    }
    if (later.size() == waiting.size())
      throw Error("layer \"" + layer_name(*later.front()) + "\" takes its input from a layer that is not there");
    waiting = std::move(later);
  }
  for (const char* end : {"input_layers", "output_layers"}) {
    const auto found = tensors.find(end_name(config.at(end)));
    if (found == tensors.end()) throw Error(std::string("its ") + end + " name a layer that is not there");
    architecture.ends.push_back(found->second);
  }
  architecture.input = architecture.ends.front().shape();
  return architecture;
}

Architecture parse_sequential(const json& config) {
  Architecture architecture;
  const json& layers = config.is_array() ? config : config.at("layers");
  for (const json& layer : layers) {
    const json& fields = layer.at("config");
    // Keras 2 can leave the Input out and give the first layer its shape.
    if (architecture.chain.empty() && layer.at("class_name") != "InputLayer" && fields.contains("batch_input_shape"))
      architecture.chain.push_back(Input(sample_shape(fields.at("batch_input_shape"))));
    architecture.chain.push_back(layer_from_config(layer.at("class_name").get<std::string>(), fields));
  }
  if (architecture.chain.size() < 2) throw Error("it has no layers");
  if (const auto declared = architecture.chain.front().impl()->declared_input()) {
    architecture.input = *declared;
  } else if (config.is_object() && config.contains("build_input_shape")) {
    architecture.input = sample_shape(config.at("build_input_shape"));
    architecture.chain.insert(architecture.chain.begin(), Input(architecture.input));
  } else {
    throw Error("it does not say the shape of its input");
  }
  return architecture;
}

json loss_config(const LossImpl& loss, ConfigForm form) {
  if (const auto* sparse = dynamic_cast<const SparseCategoricalCrossentropyImpl*>(&loss)) {
    return wrapped(
        "SparseCategoricalCrossentropy",
        {{"name", loss.name()}, {"reduction", "sum_over_batch_size"}, {"from_logits", sparse->takes_logits()}, {"ignore_class", nullptr}},
        "keras.losses", form);
  }
  const auto* dense = dynamic_cast<const DenseLossImpl*>(&loss);
  if (dense == nullptr) return loss.name();
  json config = {{"name", loss.name()}, {"reduction", "sum_over_batch_size"}};
  if (dense->kind() == DenseLossImpl::Kind::mean_squared_error) return wrapped("MeanSquaredError", config, "keras.losses", form);
  config["from_logits"] = dense->takes_logits();
  const bool binary = dense->kind() == DenseLossImpl::Kind::binary_crossentropy;
  return wrapped(binary ? "BinaryCrossentropy" : "CategoricalCrossentropy", config, "keras.losses", form);
}

json schedule_config(const LearningRate::Description& schedule) {
  const bool piecewise = schedule.class_name == "PiecewiseConstantDecay";
  json config = {{"name", piecewise ? "PiecewiseConstant" : schedule.class_name}};
  for (const auto& [key, values] : schedule.arguments) {
    const bool whole = key == "decay_steps" || key == "boundaries";
    json list = json::array();
    for (const double value : values) list.push_back(whole ? json(static_cast<std::int64_t>(value)) : json(value));
    config[key] = piecewise ? list : key == "staircase" ? json(values.front() != 0) : list.front();
  }
  if (schedule.class_name == "CosineDecay") config.update({{"warmup_target", nullptr}, {"warmup_steps", 0}});
  return wrapped(schedule.class_name, config, "keras.optimizers.schedules", ConfigForm::keras3);
}

// A number, or a schedule of Keras'.
LearningRate parse_rate(const json& rate) {
  if (rate.is_number()) return rate.get<float>();
  const std::string class_name = rate.at("class_name").get<std::string>();
  const json& config = rate.at("config");
  const auto initial = [&] { return config.at("initial_learning_rate").get<float>(); };
  const auto steps = [&] { return static_cast<std::int64_t>(config.at("decay_steps").get<double>()); };
  if (class_name == "ExponentialDecay")
    return ExponentialDecay(initial(), steps(), config.at("decay_rate").get<float>(), config.value("staircase", false));
  if (class_name == "CosineDecay") {
    if (config.value("warmup_steps", 0) != 0) throw Error("CosineDecay with a warm-up is not supported");
    return CosineDecay(initial(), steps(), config.value("alpha", 0.0F));
  }
  if (class_name == "PiecewiseConstantDecay")
    return PiecewiseConstantDecay(config.at("boundaries").get<std::vector<std::int64_t>>(), config.at("values").get<std::vector<float>>());
  throw Error("the learning-rate schedule " + class_name + " is not supported");
}

Optimizer parse_unclipped_optimizer(const json& object) {
  const std::string class_name = object.is_string() ? object.get<std::string>() : object.at("class_name").get<std::string>();
  if (object.is_string()) return Optimizer(class_name);
  const json& config = object.at("config");
  if (config.contains("gradient_accumulation_steps") && !config.at("gradient_accumulation_steps").is_null())
    throw Error("its optimizer's gradient_accumulation_steps are not supported");
  if (config.value("use_ema", false) || config.value("amsgrad", false)) throw Error("use_ema and amsgrad are not supported");
  return make_optimizer(class_name, parse_rate(config.at("learning_rate")), [&](const char* name, float otherwise) {
    const json value = config.value(name, json());
    return value.is_null() ? otherwise : value.is_boolean() ? static_cast<float>(value.get<bool>()) : value.get<float>();
  });
}

struct ClippingName {
  const char* key;
  Clipping::Kind kind;
};
constexpr ClippingName kClippings[] = {
    {"clipvalue", Clipping::Kind::value}, {"clipnorm", Clipping::Kind::norm}, {"global_clipnorm", Clipping::Kind::global_norm}};

Optimizer parse_optimizer(const json& object) {
  Optimizer optimizer = parse_unclipped_optimizer(object);
  if (object.is_string()) return optimizer;
  for (const auto& [key, kind] : kClippings) {
    const json limit = object.at("config").value(key, json());
    if (!limit.is_null()) optimizer.impl()->set_clipping({kind, limit.get<float>()});
  }
  return optimizer;
}

json metric_config(const MetricImpl& metric, ConfigForm form) {
  if (metric.class_name().empty()) return metric.name();
  json config = {{"name", metric.name()}, {"dtype", "float32"}};
  for (const auto& [key, value] : metric.arguments()) config[key] = key == "k" ? json(static_cast<int>(value)) : json(value);
  return wrapped(metric.class_name(), config, "keras.metrics", form);
}

Loss parse_loss(const json& object) {
  if (object.is_string()) return Loss(object.get<std::string>());
  const std::string class_name = object.at("class_name").get<std::string>();
  if (class_name == "SparseCategoricalCrossentropy")
    return SparseCategoricalCrossentropy().from_logits(object.at("config").value("from_logits", false));
  const bool from_logits = object.contains("config") && object.at("config").value("from_logits", false);
  if (class_name == "CategoricalCrossentropy") return CategoricalCrossentropy().from_logits(from_logits);
  if (class_name == "BinaryCrossentropy") return BinaryCrossentropy().from_logits(from_logits);
  if (class_name == "MeanSquaredError") return MeanSquaredError();
  throw Error("the loss " + class_name + " is not supported");
}

Metric parse_metric(const json& object) {
  if (object.is_string()) return Metric(object.get<std::string>());
  const std::string class_name = object.at("class_name").get<std::string>();
  const json& config = object.at("config");
  if (class_name == "SparseTopKCategoricalAccuracy")
    return SparseTopKCategoricalAccuracy(config.value("k", 5), config.value("name", "sparse_top_k_categorical_accuracy"));
  if (class_name == "CategoricalAccuracy") return CategoricalAccuracy(config.value("name", "categorical_accuracy"));
  if (class_name == "BinaryAccuracy") return BinaryAccuracy(config.value("threshold", 0.5F), config.value("name", "binary_accuracy"));
  if (class_name == "SparseCategoricalAccuracy") return SparseCategoricalAccuracy(config.value("name", "sparse_categorical_accuracy"));
  throw Error("the metric " + class_name + " is not supported");
}

}  // namespace

json model_config(const Graph& graph, const std::string& name, ConfigForm form) {
  const bool functional = graph.functional();
  json object = wrapped(functional ? "Functional" : "Sequential",
                        functional ? functional_config(graph, name, form) : sequential_config(graph, name, form),
                        functional ? "keras.src.models.functional" : "keras", form);
  if (form == ConfigForm::keras3) object["build_config"] = {{"input_shape", batch_shape(graph.input())}};
  return object;
}

json training_config(const OptimizerImpl& optimizer, const LossImpl& loss, const std::vector<std::shared_ptr<MetricImpl>>& metrics,
                     std::size_t weighted_metrics, std::int64_t iteration, ConfigForm form) {
  const std::string name = optimizer.name();
  const LearningRate::Description schedule = optimizer.schedule();
  json arguments = {{"name", name == "sgd" ? "SGD" : name},
                    {"learning_rate", schedule.class_name.empty() ? json(optimizer.learning_rate(iteration)) : schedule_config(schedule)},
                    {"weight_decay", nullptr},
                    {"clipnorm", nullptr},
                    {"global_clipnorm", nullptr},
                    {"clipvalue", nullptr},
                    {"use_ema", false},
                    {"ema_momentum", 0.99},
                    {"ema_overwrite_frequency", nullptr},
                    {"loss_scale_factor", nullptr},
                    {"gradient_accumulation_steps", nullptr}};
  if (name == "adam" || name == "adamw") arguments["amsgrad"] = false;
  for (const auto& [key, value] : optimizer.arguments()) {
    if (key == "weight_decay" && value == 0) continue;
    arguments[key] = key == "nesterov" ? json(value != 0) : json(value);
  }
  for (const auto& [key, kind] : kClippings)
    if (optimizer.clipping().kind == kind) arguments[key] = optimizer.clipping().limit;
  json names = json::array(), weighted = json::array();
  for (std::size_t i = 0; i < metrics.size(); ++i)
    (i + weighted_metrics < metrics.size() ? names : weighted).push_back(metric_config(*metrics[i], form));
  const json loss_object = loss_config(loss, form);
  json config = {
      {"loss", loss_object},  {"loss_weights", nullptr},  {"metrics", names},    {"weighted_metrics", weighted.empty() ? json() : weighted},
      {"run_eagerly", false}, {"steps_per_execution", 1}, {"jit_compile", false}};
  const char* key = form == ConfigForm::keras3 ? "optimizer" : "optimizer_config";
  config[key] = wrapped(keras_class_of(optimizer), arguments, "keras.optimizers", form);
  return config;
}

Architecture parse_model_config(const json& config) {
  const std::string class_name = config.at("class_name").get<std::string>();
  const json& fields = config.at("config");
  const json& layers = fields.is_array() ? fields : fields.at("layers");
  if (!layers.is_array() || layers.size() > kMostLayers) throw Error("its layers are described wrongly");
  Architecture architecture;
  if (class_name == "Sequential") {
    architecture = parse_sequential(fields);
  } else if (class_name == "Functional" || class_name == "Model") {
    architecture = parse_functional(fields);
  } else {
    throw Error("it is a " + class_name + ", not a Sequential or Functional model");
  }
  architecture.name = fields.is_object() ? fields.value("name", "sequential") : "sequential";
  return architecture;
}

Graph Architecture::graph() const {
  if (!ends.empty()) return Graph::build(functional_nodes(ends[0], ends[1]), input, true);
  std::vector<std::shared_ptr<LayerImpl>> layers;
  for (const Layer& layer : chain) layers.push_back(layer.impl());
  return Graph::chain(layers, input);
}

Model Architecture::model() const {
  if (!ends.empty()) return Model(ends[0], ends[1], name);
  return Sequential(chain, name);
}

bool compile_from_config(Model& model, const json& config, ConfigForm form, bool squares) {
  const char* key = form == ConfigForm::keras3 ? "optimizer" : "optimizer_config";
  if (!config.is_object() || !config.contains(key) || config.at(key).is_null() || !config.contains("loss") || config.at("loss").is_null())
    return false;
  const auto metrics = [&](const char* which) {
    std::vector<Metric> parsed;
    if (!config.contains(which) || !config.at(which).is_array()) return parsed;
    for (const json& metric : config.at(which)) {
      if (!metric.is_array()) {
        parsed.push_back(parse_metric(metric));
        continue;
      }
      for (const json& inner : metric) parsed.push_back(parse_metric(inner));  // one list for each output
    }
    return parsed;
  };
  Optimizer optimizer = parse_optimizer(config.at(key));
  if (squares) optimizer = optimizer.embedding_gradients("keras");
  model.compile(optimizer, parse_loss(config.at("loss")), metrics("metrics"), metrics("weighted_metrics"));
  return true;
}

}  // namespace lockstep
