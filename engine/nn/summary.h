// A model as a table, the way Keras 3 prints it.
#pragma once

#include <string>

#include "graph.h"

namespace lockstep {

std::string summary_text(const Graph& graph, const std::string& model_name);

// 2775848 -> "2.65 MB", with Keras' units and rounding.
std::string readable_memory(double bytes);
// 693962 -> "693,962".
std::string with_commas(std::int64_t number);

}  // namespace lockstep
