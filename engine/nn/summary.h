// A model as a table, the way Keras 3 prints it.
#pragma once

#include <optional>
#include <string>

#include "engine/nn/graph.h"

namespace lockstep {

// What an optimizer keeps, once it has begun: Keras counts it as parameters too.
struct OptimizerSize {
  std::int64_t values = 0;
  std::int64_t bytes = 0;
};
std::string summary_text(const Graph& graph, const std::string& model_name, const std::optional<OptimizerSize>& optimizer = std::nullopt);

// 2775848 -> "2.65 MB", with Keras' units and rounding.
std::string readable_memory(double bytes);
// 693962 -> "693,962".
std::string with_commas(std::int64_t number);

}  // namespace lockstep
