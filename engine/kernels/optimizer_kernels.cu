// Optimizer updates: one pass over one flat buffer. Products and sums are rounded one by one, as TensorFlow's separate operations are.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/optimizer_kernels.h"

namespace lockstep::kernels {

__global__ void adam(AdamConstants constants, View<const float> gradient, View<const float> squares, View<float> weights, View<float> m,
                     View<float> v) {
  const bool squared = squares.count > 0;
  each_in_grid(weights.count, [=](std::int64_t i) {
    const float g = gradient[i];
    const float m1 = m[i] + (g - m[i]) * constants.one_minus_beta1;
    const float v1 = v[i] + ((squared ? squares[i] : g * g) - v[i]) * constants.one_minus_beta2;
    m[i] = m1;
    v[i] = v1;
    weights[i] -= m1 * constants.alpha / (sqrtf(v1) + constants.epsilon);
  });
}

__global__ void sgd(float rate, View<const float> gradient, View<float> weights) {
  each_in_grid(weights.count, [=](std::int64_t i) { weights[i] -= rate * gradient[i]; });
}

__global__ void sgd_momentum(float rate, float momentum, bool nesterov, View<const float> gradient, View<float> weights, View<float> m) {
  each_in_grid(weights.count, [=](std::int64_t i) {
    const float step = rate * gradient[i];
    const float m1 = momentum * m[i] - step;
    m[i] = m1;
    weights[i] += nesterov ? momentum * m1 - step : m1;
  });
}

}  // namespace lockstep::kernels
