// Values in HDF5: Keras 3's weights file ("x.weights.h5", and inside ".keras") and the older file ("x.h5").
#pragma once

#include <string>

#include "engine/io/hdf5_file.h"
#include "engine/io/model_state.h"
#include "engine/nn/graph.h"

namespace lockstep {

struct SavedModel {
  const Graph* graph;
  std::string name;
  std::string optimizer;  // "adam"; empty when the model is not compiled
};

// layers/<class>_<k>/vars/<i>, optimizer/vars/<i>
void write_weights(hdf5::Writer& file, const SavedModel& model, const ModelState& state);
// model_weights/<layer>/<variable>, optimizer_weights/<optimizer>/<variable>; names in attributes
void write_legacy_weights(hdf5::Writer& file, const SavedModel& model, const ModelState& state);

// Either form; an Error that names what is missing or does not fit. Nothing of a model is touched before all is read.
ModelState read_weights(const hdf5::Reader& file, const Graph& graph);

inline constexpr const char* kKerasVersion = "3.15.1";  // whose forms these are

}  // namespace lockstep
