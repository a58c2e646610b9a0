// Conv2D and the MaxPooling2D behind it as one step of a program.
#pragma once

#include <memory>

#include "engine/nn/layer.h"
#include "engine/ops/activation.h"
#include "engine/ops/convolution_pooling.h"

namespace lockstep {

// plan.fused.pooling is the MaxPooling2D; Conv2D has said that it takes it.
std::unique_ptr<LayerOp> plan_conv_pooling(const LayerPlan& plan, const ops::ConvolutionSpec& spec, ActivationKind activation,
                                           bool use_bias);

}  // namespace lockstep
