#include "engine/io/layer_config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/nn/batch_normalization.h"
#include "engine/nn/conv2d.h"
#include "engine/nn/dense.h"
#include "engine/nn/depthwise_conv2d.h"
#include "engine/nn/embedding.h"
#include "engine/nn/layers_1d.h"
#include "engine/nn/pooling2d.h"
#include "engine/nn/random_layers.h"
#include "engine/nn/simple_layers.h"
#include "engine/nn/zero_padding2d.h"
#include "lockstep/error.h"
#include "lockstep/sequence_layers.h"

namespace lockstep {
namespace {

using nlohmann::json;

// No layer is wider; larger numbers come from damaged files and would only overflow somewhere.
constexpr std::int64_t kLargestExtent = 1 << 24;

int whole(const json& value) {
  const double number = value.get<double>();
  if (!(std::abs(number) <= kLargestExtent) || number != std::floor(number))
    throw Error("the number " + value.dump() + " makes no sense here");
  return static_cast<int>(number);
}

Extent2D pair(const json& value) {
  if (value.is_number()) return {whole(value)};
  return {whole(value.at(0)), whole(value.at(1))};
}
int single(const json& value) { return whole(value.is_array() ? value.at(0) : value); }
json pair_json(const Extent2D& extent) { return json::array({extent.height, extent.width}); }

// Keras writes a layer's activation as a name, or as an object whose "config" is the name.
std::string activation_of(const json& config) {
  const auto found = config.find("activation");
  if (found == config.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->contains("config") && found->at("config").is_string()) return found->at("config").get<std::string>();
  return found->at("class_name").get<std::string>();
}

struct InitializerName {
  Initializer::Kind kind;
  const char* class_name;
  const char* name;
};
constexpr InitializerName kInitializers[] = {
    {Initializer::Kind::zeros, "Zeros", "zeros"},
    {Initializer::Kind::ones, "Ones", "ones"},
    {Initializer::Kind::glorot_uniform, "GlorotUniform", "glorot_uniform"},
    {Initializer::Kind::glorot_normal, "GlorotNormal", "glorot_normal"},
    {Initializer::Kind::he_uniform, "HeUniform", "he_uniform"},
    {Initializer::Kind::he_normal, "HeNormal", "he_normal"},
    {Initializer::Kind::random_uniform, "RandomUniform", "random_uniform"},
    {Initializer::Kind::random_normal, "RandomNormal", "random_normal"},
};

json initializer_json(const Initializer& initializer) {
  const char* class_name = "Constant";
  for (const InitializerName& known : kInitializers)
    if (known.kind == initializer.kind) class_name = known.class_name;
  json config = json::object();
  switch (initializer.kind) {
    case Initializer::Kind::zeros:
    case Initializer::Kind::ones:
      break;
    case Initializer::Kind::constant:
      config = {{"value", initializer.value}};
      break;
    case Initializer::Kind::random_uniform:
      config = {{"seed", nullptr}, {"minval", -initializer.value}, {"maxval", initializer.value}};
      break;
    case Initializer::Kind::random_normal:
      config = {{"seed", nullptr}, {"mean", 0.0}, {"stddev", initializer.value}};
      break;
    default:
      config = {{"seed", nullptr}};
  }
  return {{"module", "keras.initializers"}, {"class_name", class_name}, {"config", config}, {"registered_name", nullptr}};
}

// First values matter little in a file that brings the values: one that we do not have leaves the layer's default.
template <typename Set>
void with_initializer(const json& config, const char* key, Set set) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  const std::string class_name = found->is_string() ? found->get<std::string>() : found->value("class_name", "");
  for (const InitializerName& known : kInitializers)
    if (class_name == known.class_name || class_name == known.name) set(known.name);
}

// What Keras can and we can not: silently leaving it out would train another model.
void refuse_extras(const json& config) {
  for (const char* key : {"kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint",
                          "depthwise_regularizer", "depthwise_constraint", "embeddings_regularizer", "embeddings_constraint",
                          "beta_regularizer", "gamma_regularizer", "beta_constraint", "gamma_constraint"}) {
    if (config.contains(key) && !config.at(key).is_null()) throw Error(std::string("its ") + key + " is not supported");
  }
  if (config.value("data_format", json("channels_last")) == json("channels_first")) throw Error("channels_first is not supported");
  if (config.value("groups", 1) != 1) throw Error("groups other than 1 are not supported");
  if (config.value("mask_zero", false)) throw Error("mask_zero is not supported");
}

json no_extras(std::initializer_list<const char*> keys) {
  json config = json::object();
  for (const char* key : keys) config[key] = nullptr;
  return config;
}

// Fields that all layers with a window share. `images`: two extents each; for sequences one.
json window_json(const WindowLayerImpl& layer, const char* size, bool images = true) {
  const auto extents = [&](const Extent2D& extent) { return images ? pair_json(extent) : json::array({extent.width}); };
  return {{size, extents(layer.window)},
          {"strides", extents(layer.strides)},
          {"padding", layer.padding == Padding::same ? "same" : "valid"},
          {"data_format", "channels_last"}};
}

// Fields that all convolutions share; Self is the public handle.
template <typename Self>
Self read_window(Self layer, const json& config) {
  layer.padding(config.value("padding", "valid"));
  layer.use_bias(config.value("use_bias", true));
  with_initializer(config, "bias_initializer", [&](const char* name) { layer.bias_initializer(name); });
  return layer;
}

json write_conv2d(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const Conv2DImpl&>(base);
  json config = no_extras({"kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint", "bias_constraint"});
  config.update(window_json(layer, "kernel_size"));
  config.update({{"filters", layer.filters},
                 {"dilation_rate", pair_json(layer.dilation)},
                 {"groups", 1},
                 {"activation", to_string(layer.activation)},
                 {"use_bias", layer.use_bias},
                 {"kernel_initializer", initializer_json(layer.kernel_initializer)},
                 {"bias_initializer", initializer_json(layer.bias_initializer)}});
  return config;
}

Layer read_conv2d(const json& config) {
  Conv2D layer(whole(config.at("filters")), pair(config.at("kernel_size")), activation_of(config));
  layer.strides(pair(config.value("strides", json(1)))).dilation_rate(pair(config.value("dilation_rate", json(1))));
  with_initializer(config, "kernel_initializer", [&](const char* name) { layer.kernel_initializer(name); });
  return read_window(layer, config);
}

json write_conv1d(const LayerImpl& base) {
  const Conv2DImpl& layer = dynamic_cast<const Conv1DImpl&>(base).image;
  json config = write_conv2d(layer);
  config.update(window_json(layer, "kernel_size", false));
  config["dilation_rate"] = json::array({layer.dilation.width});
  return config;
}

Layer read_conv1d(const json& config) {
  Conv1D layer(whole(config.at("filters")), single(config.at("kernel_size")), activation_of(config));
  layer.strides(single(config.value("strides", json(1)))).dilation_rate(single(config.value("dilation_rate", json(1))));
  with_initializer(config, "kernel_initializer", [&](const char* name) { layer.kernel_initializer(name); });
  return read_window(layer, config);
}

json write_depthwise(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const DepthwiseConv2DImpl&>(base);
  json config = no_extras({"depthwise_regularizer", "bias_regularizer", "activity_regularizer", "depthwise_constraint", "bias_constraint"});
  config.update(window_json(layer, "kernel_size"));
  config.update({{"depth_multiplier", layer.depth_multiplier},
                 {"dilation_rate", pair_json(layer.dilation)},
                 {"activation", to_string(layer.activation)},
                 {"use_bias", layer.use_bias},
                 {"depthwise_initializer", initializer_json(layer.depthwise_initializer)},
                 {"bias_initializer", initializer_json(layer.bias_initializer)}});
  return config;
}

Layer read_depthwise(const json& config) {
  DepthwiseConv2D layer(pair(config.at("kernel_size")), activation_of(config));
  layer.strides(pair(config.value("strides", json(1)))).dilation_rate(pair(config.value("dilation_rate", json(1))));
  layer.depth_multiplier(whole(config.value("depth_multiplier", json(1))));
  with_initializer(config, "depthwise_initializer", [&](const char* name) { layer.depthwise_initializer(name); });
  return read_window(layer, config);
}

json write_dense(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const DenseImpl&>(base);
  json config = no_extras({"kernel_regularizer", "bias_regularizer", "kernel_constraint", "bias_constraint"});
  config.update({{"units", layer.units},
                 {"activation", to_string(layer.activation)},
                 {"use_bias", layer.use_bias},
                 {"kernel_initializer", initializer_json(layer.kernel_initializer)},
                 {"bias_initializer", initializer_json(layer.bias_initializer)}});
  return config;
}

Layer read_dense(const json& config) {
  Dense layer(whole(config.at("units")), activation_of(config));
  layer.use_bias(config.value("use_bias", true));
  with_initializer(config, "kernel_initializer", [&](const char* name) { layer.kernel_initializer(name); });
  with_initializer(config, "bias_initializer", [&](const char* name) { layer.bias_initializer(name); });
  return layer;
}

json write_pooling(const LayerImpl& base) { return window_json(dynamic_cast<const Pooling2DImpl&>(base), "pool_size"); }

template <typename Handle>
Layer read_pooling(const json& config) {
  const Extent2D pool = pair(config.at("pool_size"));
  Handle layer(pool);
  layer.padding(config.value("padding", "valid"));
  if (config.contains("strides") && !config.at("strides").is_null()) layer.strides(pair(config.at("strides")));
  return layer;
}

json write_pooling1d(const LayerImpl& base) { return window_json(dynamic_cast<const MaxPooling1DImpl&>(base).image, "pool_size", false); }

Layer read_pooling1d(const json& config) {
  MaxPooling1D layer(single(config.at("pool_size")));
  layer.padding(config.value("padding", "valid"));
  if (config.contains("strides") && !config.at("strides").is_null()) layer.strides(single(config.at("strides")));
  return layer;
}

json write_batch_norm(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const BatchNormalizationImpl&>(base);
  json config = no_extras({"beta_regularizer", "gamma_regularizer", "beta_constraint", "gamma_constraint"});
  const json zeros = initializer_json({Initializer::Kind::zeros}), ones = initializer_json({Initializer::Kind::ones});
  config.update({{"axis", -1},
                 {"momentum", layer.momentum},
                 {"epsilon", layer.epsilon},
                 {"center", layer.center},
                 {"scale", layer.scale},
                 {"beta_initializer", zeros},
                 {"gamma_initializer", ones},
                 {"moving_mean_initializer", zeros},
                 {"moving_variance_initializer", ones},
                 {"synchronized", layer.synchronized}});
  return config;
}

Layer read_batch_norm(const json& config) {
  BatchNormalization layer;
  layer.momentum(config.value("momentum", 0.99F)).epsilon(config.value("epsilon", 1e-3F));
  return layer.center(config.value("center", true)).scale(config.value("scale", true)).synchronized(config.value("synchronized", false));
}

json write_embedding(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const EmbeddingImpl&>(base);
  json config = no_extras({"embeddings_regularizer", "activity_regularizer", "embeddings_constraint"});
  config.update({{"input_dim", layer.input_dim},
                 {"output_dim", layer.output_dim},
                 {"mask_zero", false},
                 {"embeddings_initializer", initializer_json(layer.initializer)}});
  return config;
}

Layer read_embedding(const json& config) {
  Embedding layer(whole(config.at("input_dim")), whole(config.at("output_dim")));
  with_initializer(config, "embeddings_initializer", [&](const char* name) { layer.embeddings_initializer(name); });
  return layer;
}

json write_zero_padding(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const ZeroPadding2DImpl&>(base);
  return {{"padding", json::array({json::array({layer.top, layer.bottom}), json::array({layer.left, layer.right})})},
          {"data_format", "channels_last"}};
}

Layer read_zero_padding(const json& config) {
  const json& padding = config.at("padding");
  if (!padding.is_array() || !padding.at(0).is_array()) return ZeroPadding2D(pair(padding));
  const Extent2D rows = pair(padding.at(0)), columns = pair(padding.at(1));
  return ZeroPadding2D(rows.height, rows.width, columns.height, columns.width);
}

json write_relu(const LayerImpl& base) {
  const float bound = dynamic_cast<const ReLUImpl&>(base).max_value;
  return {{"max_value", std::isinf(bound) ? json(nullptr) : json(bound)}, {"negative_slope", 0.0}, {"threshold", 0.0}};
}

Layer read_relu(const json& config) {
  if (config.value("negative_slope", 0.0) != 0 || config.value("threshold", 0.0) != 0) throw Error("a slope or threshold is not supported");
  return config.contains("max_value") && !config.at("max_value").is_null() ? ReLU(config.at("max_value").get<float>()) : ReLU();
}

json write_random_flip(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const RandomFlipImpl&>(base);
  const char* mode = layer.horizontal && layer.vertical ? "horizontal_and_vertical" : layer.horizontal ? "horizontal" : "vertical";
  return {{"seed", nullptr}, {"mode", mode}, {"data_format", "channels_last"}};
}

json write_dropout(const LayerImpl& base) {
  return {{"rate", dynamic_cast<const DropoutImpl&>(base).rate}, {"seed", nullptr}, {"noise_shape", nullptr}};
}

json write_rescaling(const LayerImpl& base) {
  const auto& layer = dynamic_cast<const RescalingImpl&>(base);
  return {{"scale", layer.scale}, {"offset", layer.offset}};
}

Layer read_reshape(const json& config) {
  std::vector<std::int64_t> extents;
  for (const json& extent : config.at("target_shape")) extents.push_back(whole(extent));
  return Reshape(Shape(std::move(extents)));
}

Layer read_input(const json& config) {
  const Shape sample = sample_shape(config.contains("batch_shape") ? config.at("batch_shape") : config.at("batch_input_shape"));
  return Input(sample);
}

struct Codec {
  const char* class_name;
  json (*write)(const LayerImpl& layer);
  Layer (*read)(const json& config);
};

constexpr Codec kCodecs[] = {
    {"InputLayer",
     [](const LayerImpl& layer) -> json {
       return {{"batch_shape", batch_shape(*layer.declared_input())},
               {"dtype", "float32"},
               {"sparse", false},
               {"ragged", false},
               {"optional", false}};
     },
     read_input},
    {"Conv2D", write_conv2d, read_conv2d},
    {"Conv1D", write_conv1d, read_conv1d},
    {"DepthwiseConv2D", write_depthwise, read_depthwise},
    {"Dense", write_dense, read_dense},
    {"MaxPooling2D", write_pooling, read_pooling<MaxPooling2D>},
    {"AveragePooling2D", write_pooling, read_pooling<AveragePooling2D>},
    {"MaxPooling1D", write_pooling1d, read_pooling1d},
    {"GlobalAveragePooling2D",
     [](const LayerImpl& layer) -> json {
       return {{"data_format", "channels_last"}, {"keepdims", dynamic_cast<const GlobalAveragePooling2DImpl&>(layer).keepdims}};
     },
     [](const json& config) -> Layer { return GlobalAveragePooling2D().keepdims(config.value("keepdims", false)); }},
    {"GlobalMaxPooling2D",
     [](const LayerImpl& layer) -> json {
       return {{"data_format", "channels_last"}, {"keepdims", dynamic_cast<const GlobalMaxPooling2DImpl&>(layer).keepdims}};
     },
     [](const json& config) -> Layer { return GlobalMaxPooling2D().keepdims(config.value("keepdims", false)); }},
    {"BatchNormalization", write_batch_norm, read_batch_norm},
    {"Embedding", write_embedding, read_embedding},
    {"ZeroPadding2D", write_zero_padding, read_zero_padding},
    {"ReLU", write_relu, read_relu},
    {"Activation",
     [](const LayerImpl& layer) -> json {
       return {{"activation", to_string(dynamic_cast<const ActivationImpl&>(layer).kind)}};
     },
     [](const json& config) -> Layer { return Activation(activation_of(config)); }},
    {"Softmax",
     [](const LayerImpl&) -> json {
       return {{"axis", -1}};
     },
     [](const json&) -> Layer { return Softmax(); }},
    {"Flatten",
     [](const LayerImpl&) -> json {
       return {{"data_format", "channels_last"}};
     },
     [](const json&) -> Layer { return Flatten(); }},
    {"Reshape",
     [](const LayerImpl& layer) -> json {
       return {{"target_shape", dynamic_cast<const ReshapeImpl&>(layer).target_shape.extents()}};
     },
     read_reshape},
    {"Add", [](const LayerImpl&) -> json { return json::object(); }, [](const json&) -> Layer { return Add(); }},
    {"Dropout", write_dropout, [](const json& config) -> Layer { return Dropout(config.at("rate").get<float>()); }},
    {"RandomFlip", write_random_flip,
     [](const json& config) -> Layer { return RandomFlip(config.value("mode", "horizontal_and_vertical")); }},
    {"Rescaling", write_rescaling,
     [](const json& config) -> Layer { return Rescaling(config.at("scale").get<float>(), config.value("offset", 0.0F)); }},
};

const Codec& codec(const std::string& class_name) {
  std::string known;
  for (const Codec& each : kCodecs) {
    if (class_name == each.class_name) return each;
    known += (known.empty() ? "" : ", ") + std::string(each.class_name);
  }
  throw Error("there is no layer " + class_name + "; there are: " + known);
}

}  // namespace

std::vector<std::string> layer_class_names() {
  std::vector<std::string> names;
  for (const Codec& each : kCodecs) names.emplace_back(each.class_name);
  return names;
}

json float32_policy() {
  return {{"module", "keras"}, {"class_name", "DTypePolicy"}, {"config", {{"name", "float32"}}}, {"registered_name", nullptr}};
}

json batch_shape(const Shape& sample) {
  json shape = json::array({nullptr});
  for (const std::int64_t extent : sample.extents()) shape.push_back(extent);
  return shape;
}

Shape sample_shape(const json& batch_shape) {
  constexpr double kLargestSample = 1 << 30;
  std::vector<std::int64_t> extents;
  double size = 1;
  for (std::size_t i = 1; i < batch_shape.size(); ++i) {
    if (batch_shape.at(i).is_null()) throw Error("the shape of a sample must be known, not " + batch_shape.dump());
    extents.push_back(whole(batch_shape.at(i)));
    if (extents.back() < 1) throw Error("the shape " + batch_shape.dump() + " makes no sense");
    size *= static_cast<double>(extents.back());
  }
  if (!batch_shape.is_array() || extents.empty() || size > kLargestSample)
    throw Error("the shape " + batch_shape.dump() + " makes no sense");
  return Shape(std::move(extents));
}

json layer_config(const LayerImpl& layer) {
  json config = codec(layer.class_name()).write(layer);
  config["name"] = layer.name();
  if (!layer.is_input()) config.update({{"trainable", layer.trainable()}, {"dtype", float32_policy()}});
  return config;
}

Layer layer_from_config(const std::string& class_name, const json& config) {
  const std::string name = config.value("name", "");
  try {
    refuse_extras(config);
    Layer layer = codec(class_name).read(config);
    if (config.contains("trainable") && config.at("trainable").is_boolean()) layer.set_trainable(config.at("trainable").get<bool>());
    if (!name.empty()) layer.impl()->set_name(name);
    return layer;
  } catch (const json::exception& error) {
    throw Error("layer " + class_name + " \"" + name + "\" is described wrongly (" + error.what() + ")");
  } catch (const Error& error) {
    throw Error("layer " + class_name + " \"" + name + "\": " + error.what());
  }
}

}  // namespace lockstep
