// Nadam's update, and the decay of weights that AdamW adds to Adam.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// What is the same for all elements, computed once on the host in float, as Keras does.
struct NadamConstants {
  float one_minus_beta1, one_minus_beta2;
  float next_momentum;           // u_(t+1)
  float one_minus_momentum;      // 1 - u_t
  float one_minus_product;       // 1 - u_1 ... u_t
  float one_minus_next_product;  // 1 - u_1 ... u_(t+1)
  float one_minus_beta2_power;   // 1 - beta2^t
  float rate, epsilon;
};

// m += (g - m)(1 - beta1); v += (g^2 - v)(1 - beta2);
// w -= rate * (u_(t+1) m / (1 - product_(t+1)) + (1 - u_t) g / (1 - product_t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
// `squares`, where it has elements, stands for g^2.
__global__ void nadam(NadamConstants constants, View<const float> gradient, View<const float> squares, View<float> weights, View<float> m,
                      View<float> v);
inline Cost nadam_cost(std::int64_t n) { return {18.0 * static_cast<double>(n), 28.0 * static_cast<double>(n)}; }

// w -= w * decay * rate
__global__ void decay_weights(float decay, float rate, View<float> weights);
inline Cost decay_weights_cost(std::int64_t n) { return {3.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
