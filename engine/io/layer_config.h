// A layer as Keras' files describe it: class and "config", both ways. A new layer needs one entry in the table of layer_config.cc.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/nn/layer.h"
#include "lockstep/layers.h"

namespace lockstep {

// The object under "config"; an Error for a layer that Keras does not have.
nlohmann::json layer_config(const LayerImpl& layer);

// An Error that names the layer and what of it we do not have: regularizers, grouped convolution, unknown activations ...
Layer layer_from_config(const std::string& class_name, const nlohmann::json& config);

// Every class that can be read and written: all layers there are.
std::vector<std::string> layer_class_names();

// Keras' description of float32, as every layer has it.
nlohmann::json float32_policy();

// [null, 28, 28, 1], and back to a sample's shape.
nlohmann::json batch_shape(const Shape& sample);
Shape sample_shape(const nlohmann::json& batch_shape);

}  // namespace lockstep
