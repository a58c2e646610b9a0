// Optimizer updates: one pass over one flat buffer.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// Keras' Adam, with what is the same for all elements computed once on the host, in double, as Python does: 1 - beta in float
// would be off by 5e-5 for beta2 = 0.999.
struct AdamConstants {
  float alpha, one_minus_beta1, one_minus_beta2, epsilon;
};

// m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2); w -= m * alpha / (sqrt(v) + epsilon)
// `squares`, where it has elements, stands for g^2.
__global__ void adam(AdamConstants constants, View<const float> gradient, View<const float> squares, View<float> weights, View<float> m,
                     View<float> v);
inline Cost adam_cost(std::int64_t n) { return {12.0 * static_cast<double>(n), 28.0 * static_cast<double>(n)}; }

// w -= rate * g
__global__ void sgd(float rate, View<const float> gradient, View<float> weights);
inline Cost sgd_cost(std::int64_t n) { return {2.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// m = momentum * m - rate * g; w += nesterov ? momentum * m - rate * g : m
__global__ void sgd_momentum(float rate, float momentum, bool nesterov, View<const float> gradient, View<float> weights, View<float> m);
inline Cost sgd_momentum_cost(std::int64_t n) { return {6.0 * static_cast<double>(n), 20.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
