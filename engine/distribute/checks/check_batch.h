// Checks a global batch against the model before anything reaches a GPU: one sentence for what does not fit.
#pragma once

#include "engine/losses/loss.h"
#include "engine/nn/graph.h"
#include "lockstep/array.h"

namespace lockstep {

// Without a loss: a batch to predict, which has no labels.
void check_batch(const Array& x, const Array& y, const Array& weights, const Graph& graph, const LossImpl* loss);

}  // namespace lockstep
