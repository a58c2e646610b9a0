#include "engine/nn/layer.h"

#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string title(const LayerImpl& layer) { return layer.class_name() + (layer.name().empty() ? "" : " \"" + layer.name() + "\""); }

}  // namespace

std::vector<VariableSpec> LayerImpl::variables(const std::vector<Shape>& /*inputs*/) const { return {}; }

std::vector<int> LayerImpl::ready_order(const std::vector<VariableSpec>& variables) const {
  std::vector<int> order;
  for (int k = static_cast<int>(variables.size()) - 1; k >= 0; --k)
    if (variables[static_cast<std::size_t>(k)].trainable) order.push_back(k);
  return order;
}

void LayerImpl::refuse(const Shape& got, const std::string& wants) const {
  throw Error(title(*this) + ": got samples of shape " + got.str() + "; it wants " + wants);
}

void LayerImpl::refuse_options(const std::string& why) const { throw Error(title(*this) + ": " + why); }

}  // namespace lockstep
