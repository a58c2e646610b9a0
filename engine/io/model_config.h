// A model as Keras' JSON describes it: layers and how they hang together, optimizer, loss and metrics. Both ways, in the form of Keras 3
// (".keras") and in the older one (".h5"), which has the same fields with less around them.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/losses/loss.h"
#include "engine/metrics/metric.h"
#include "engine/nn/graph.h"
#include "engine/optim/optimizer.h"
#include "lockstep/model.h"

namespace lockstep {

enum class ConfigForm { keras3, legacy };

// {"class_name": "Sequential" or "Functional", "config": ...}
nlohmann::json model_config(const Graph& graph, const std::string& name, ConfigForm form);
// compile_config of ".keras", training_config of ".h5". The last `weighted_metrics` metrics are weighted. `iteration`
// counts from 1: a rate that follows a function of one's own is written as it is then.
nlohmann::json training_config(const OptimizerImpl& optimizer, const LossImpl& loss,
                               const std::vector<std::shared_ptr<MetricImpl>>& metrics, std::size_t weighted_metrics,
                               std::int64_t iteration, ConfigForm form);

// The layers of a file, before any variable is made: a chain, or the tensors at both ends of a functional model.
struct Architecture {
  std::string name;
  std::vector<Layer> chain;
  std::vector<KerasTensor> ends;  // empty, or input and output
  Shape input;

  Graph graph() const;  // shapes and names of variables, nothing allocated
  Model model() const;
};
Architecture parse_model_config(const nlohmann::json& config);

// Compiles the model where the file says how and we have what it names; returns whether it did.
// `squares`: Optimizer::embedding_gradients("keras").
bool compile_from_config(Model& model, const nlohmann::json& config, ConfigForm form, bool squares);

}  // namespace lockstep
