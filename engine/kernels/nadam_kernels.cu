// Nadam's update, and the decay of weights that AdamW adds to Adam. Rounded one by one, as TensorFlow's separate operations are.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/nadam_kernels.h"

namespace lockstep::kernels {

__global__ void nadam(NadamConstants constants, View<const float> gradient, View<const float> squares, View<float> weights, View<float> m,
                      View<float> v) {
  const bool squared = squares.count > 0;
  each_in_grid(weights.count, [=](std::int64_t i) {
    const float g = gradient[i];
    const float g2 = squared ? squares[i] : g * g;
    const float m1 = m[i] + (g - m[i]) * constants.one_minus_beta1;
    const float v1 = v[i] + (g2 - v[i]) * constants.one_minus_beta2;
    m[i] = m1;
    v[i] = v1;
    const float ahead = constants.next_momentum * m1 / constants.one_minus_next_product;
    const float now = constants.one_minus_momentum * g / constants.one_minus_product;
    weights[i] -= (ahead + now) * constants.rate / (sqrtf(v1 / constants.one_minus_beta2_power) + constants.epsilon);
  });
}

__global__ void decay_weights(float decay, float rate, View<float> weights) {
  each_in_grid(weights.count, [=](std::int64_t i) { weights[i] -= weights[i] * decay * rate; });
}

}  // namespace lockstep::kernels
