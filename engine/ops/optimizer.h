// Optimizer updates: one fused kernel over one flat buffer per replica.
#pragma once

#include "op_context.h"

namespace lockstep::ops {

// Keras' Adam: alpha = lr * sqrt(1 - beta2^t) / (1 - beta1^t); m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2);
// w -= m * alpha / (sqrt(v) + epsilon).
struct AdamStep {
  float alpha = 0, beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-7F;
};
void adam(const OpContext& context, const AdamStep& step, const Tensor& gradient, const Tensor& weights, const Tensor& m, const Tensor& v);

struct SgdStep {
  float rate = 0.01F, momentum = 0;
  bool nesterov = false;
};
void sgd(const OpContext& context, const SgdStep& step, const Tensor& gradient, const Tensor& weights, const Tensor& momentum);

}  // namespace lockstep::ops
