// Bias and activation, fused: what follows a convolution or a matrix product.
#pragma once

#include <string>

#include "engine/ops/op_context.h"

namespace lockstep {

enum class ActivationKind { linear, relu, relu6, sigmoid, tanh, softmax };

ActivationKind parse_activation(const std::string& name);  // Keras' names; an unknown one is an Error that lists the known ones
std::string to_string(ActivationKind activation);

namespace ops {

// y = activation(y + bias), bias along the last axis; in place. A bias that is not defined is left out.
void bias_activation(const OpContext& context, const Tensor& bias, ActivationKind activation, const Tensor& y);

// dy *= activation'(y), in place, and dbias = column sums of dy: for relu one pass over both. At 0, and at 6 for relu6, the gradient is 0.
// dbias may be undefined. Needs scratch of bias_gradient_scratch(rows, columns) bytes.
void activation_gradient(const OpContext& context, const Tensor& y, ActivationKind activation, const Tensor& dy, const Tensor& dbias);
std::size_t bias_gradient_scratch(std::int64_t rows, std::int64_t columns);

// Row-wise softmax over the last axis.
void softmax(const OpContext& context, const Tensor& x, const Tensor& y);

}  // namespace ops
}  // namespace lockstep
