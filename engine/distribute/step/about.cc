// What a trace says about the run as a whole.
#include <nlohmann/json.hpp>

#include "engine/distribute/step/step_state.h"

namespace lockstep {

std::string MirroredStep::about() const {
  State& state = *state_;
  ReplicaSet& replicas = state.replicas;
  const WorkerPlace place = replicas.place();
  nlohmann::json json;
  json["algorithm"] = replicas.ops->name();
  json["one copy"] = replicas.one_copy;
  json["worker"] = place.worker;
  json["workers"] = place.workers;
  json["replicas"] = place.replicas;
  json["first replica"] = place.first_replica;
  for (StepReplica& replica : replicas.all)
    json["devices"].push_back({{"name", replica.gpu().name()}, {"memory limit", replica.gpu().arena().limit()}});
  if (state.compiled.loss) json["loss"] = state.compiled.loss->name();
  if (state.compiled.optimizer) json["optimizer"] = state.compiled.optimizer->name();
  json["overlap"] = state.options.overlap;
  const VariableLayout& layout = replicas.graph.layout();
  for (std::size_t i = 0; i < replicas.graph.nodes().size(); ++i) {
    const Node& node = replicas.graph.nodes()[i];
    nlohmann::json layer = {{"name", node.layer->name()}, {"class", node.layer->class_name()}, {"output", node.output.str()}};
    layer["variables"] = nlohmann::json::array();
    for (int v = replicas.graph.first_variable(static_cast<int>(i)); v < replicas.graph.first_variable(static_cast<int>(i) + 1); ++v)
      layer["variables"].push_back(layout.specs()[static_cast<std::size_t>(v)].name);
    json["layers"].push_back(std::move(layer));
  }
  for (const VariableSpec& spec : layout.specs())
    json["variables"].push_back(
        {{"name", spec.name}, {"shape", spec.shape.str()}, {"bytes", spec.shape.size() * 4}, {"trainable", spec.trainable}});
  for (std::size_t b = 0; b < state.buckets.size(); ++b) {
    const Bucket& bucket = state.buckets[b];
    nlohmann::json one = {{"bytes", bucket.count * 4}, {"sparse", bucket.sparse >= 0}};
    for (const int v : bucket.variables) one["variables"].push_back(layout.specs()[static_cast<std::size_t>(v)].name);
    json["buckets"].push_back(std::move(one));
  }
  json["parameters"] = layout.parameters();
  return json.dump();
}

}  // namespace lockstep
