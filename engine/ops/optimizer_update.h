// Optimizer updates: one fused kernel over one flat buffer per replica.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

// Keras' Adam: alpha = lr * sqrt(1 - beta2^t) / (1 - beta1^t); m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2);
// w -= m * alpha / (sqrt(v) + epsilon).
// The betas are double because 1 - beta2 is taken from them: in float, 1 - 0.999F would be off by 5e-5 of itself.
struct AdamStep {
  float alpha = 0;
  double beta1 = 0.9, beta2 = 0.999;
  float epsilon = 1e-7F;
};
// `squares`, where defined, stands for the squares of the gradient.
void adam(const OpContext& context, const AdamStep& step, const Tensor& gradient, const Tensor& squares, const Tensor& weights,
          const Tensor& m, const Tensor& v);

// Keras' SGD: w -= rate * g; with momentum m = momentum * m - rate * g and w += m, or with Nesterov's w += momentum * m - rate * g.
// `momentum` may be undefined where step.momentum is 0.
struct SgdStep {
  float rate = 0.01F, momentum = 0;
  bool nesterov = false;
};
void sgd(const OpContext& context, const SgdStep& step, const Tensor& gradient, const Tensor& weights, const Tensor& momentum);

}  // namespace lockstep::ops
