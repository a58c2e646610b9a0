// Nadam's update and the decay of weights, as launches of our own kernels.
#pragma once

#include "engine/kernels/nadam_kernels.h"
#include "engine/ops/op_context.h"

namespace lockstep::ops {

using NadamStep = kernels::NadamConstants;
// `squares`, where defined, stands for the squares of the gradient.
void nadam(const OpContext& context, const NadamStep& step, const Tensor& gradient, const Tensor& squares, const Tensor& weights,
           const Tensor& m, const Tensor& v);
// weights -= weights * decay * rate
void decay_weights(const OpContext& context, float decay, float rate, const Tensor& weights);

}  // namespace lockstep::ops
