#include "engine/distribute/checks/check_batch.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {

void check_batch(const Array& x, const Array& y, const Array& weights, const Graph& graph, const LossImpl* loss) {
  if (x.samples() == 0) throw Error("A batch without samples was given: at least one is needed.");
  if (x.shape().sample() != graph.input()) {
    throw Error("The model takes samples of shape " + graph.input().str() + ", but x holds samples of shape " + x.shape().sample().str() +
                ".");
  }
  if (x.dtype() != graph.input_type()) {
    const bool wants_floats = graph.input_type() == DType::float32;
    throw Error(std::string("The model takes samples of type ") + (wants_floats ? "float32" : "int32") + ", but x holds " +
                (wants_floats ? "int32." : "float32."));
  }
  for (const Node& node : graph.nodes())
    if (std::find(node.inputs.begin(), node.inputs.end(), -1) != node.inputs.end()) node.layer->check_samples(x);
  if (loss == nullptr) return;  // a prediction: there are no labels
  if (y.samples() != x.samples()) {
    throw Error("x holds " + std::to_string(x.samples()) + " samples, but y holds " + std::to_string(y.samples()) + ".");
  }
  if (weights.shape().rank() > 0 && (weights.shape() != Shape{x.samples()} || weights.dtype() != DType::float32)) {
    throw Error("Weights of samples are float32 numbers, one for each of the " + std::to_string(x.samples()) +
                " samples, but they have shape " + weights.shape().str() + ".");
  }
  if (y.dtype() != loss->label_type()) {
    throw Error(std::string("The loss ") + loss->name() + " takes labels of type " +
                (loss->label_type() == DType::int32 ? "int32" : "float32") + ", but y holds another type.");
  }
  loss->check_labels(y, graph.output());
}

}  // namespace lockstep
