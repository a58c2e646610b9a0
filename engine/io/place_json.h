// A TrainingPlace as JSON, in model files and in backups.
#pragma once

#include <nlohmann/json.hpp>

#include "lockstep/training_place.h"

namespace lockstep {

nlohmann::json place_to_json(const TrainingPlace& place);
// What is missing is not known (older files); an Error or nlohmann's own where values make no sense.
TrainingPlace place_from_json(const nlohmann::json& json);

}  // namespace lockstep
