// Bias and activation, fused: what follows a convolution or a matrix product.
#pragma once

#include <string>

#include "op_context.h"

namespace lockstep {

enum class Activation { linear, relu, softmax };

Activation parse_activation(const std::string& name);  // Keras' names; an unknown one is an Error that lists the known ones
std::string to_string(Activation activation);

namespace ops {

// y = activation(y + bias), bias along the last axis; in place. A bias that is not defined is left out.
void bias_activation(const OpContext& context, const Tensor& bias, Activation activation, const Tensor& y);

// dy *= activation'(y), in place, and dbias = column sums of dy: one pass over both. For relu the gradient at 0 is 0.
// dbias may be undefined. Needs scratch of bias_gradient_scratch(rows, columns) bytes.
void activation_gradient(const OpContext& context, const Tensor& y, Activation activation, const Tensor& dy, const Tensor& dbias);
std::size_t bias_gradient_scratch(std::int64_t rows, std::int64_t columns);

// Row-wise softmax over the last axis.
void softmax(const OpContext& context, const Tensor& x, const Tensor& y);

}  // namespace ops
}  // namespace lockstep
