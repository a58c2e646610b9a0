#include "engine/io/place_json.h"

#include "lockstep/error.h"

namespace lockstep {

nlohmann::json place_to_json(const TrainingPlace& place) {
  nlohmann::json json = {{"epoch", place.epoch},           {"batch", place.batch}, {"samples", place.samples},
                         {"batch_size", place.batch_size}, {"data", place.data},   {"iterations", place.iterations}};
  if (place.seed) json["seed"] = *place.seed;
  return json;
}

TrainingPlace place_from_json(const nlohmann::json& json) {
  TrainingPlace place;
  place.epoch = json.at("epoch").get<int>();
  place.batch = json.at("batch").get<std::int64_t>();
  place.batch_size = json.at("batch_size").get<std::int64_t>();
  place.samples = json.value("samples", std::int64_t{0});
  place.iterations = json.value("iterations", std::int64_t{0});
  place.data = json.value("data", std::string());
  if (json.contains("seed")) place.seed = json.at("seed").get<std::uint64_t>();
  if (place.epoch < 0 || place.batch < 0 || place.batch_size < 0 || place.samples < 0) throw Error("its values make no sense");
  return place;
}

}  // namespace lockstep
