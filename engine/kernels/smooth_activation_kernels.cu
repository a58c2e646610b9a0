// Activations that are smooth everywhere: each gradient is a polynomial of the output, so backward keeps nothing else.
#include "engine/kernels/smooth_activation_kernels.h"

#include <cmath>

#include <backend/kernel_support.h>

namespace lockstep::kernels {

__global__ void sigmoid(View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = 1.0F / (1.0F + expf(-y[i])); });
}

__global__ void sigmoid_gradient(View<const float> y, View<float> dy) {
  each_in_grid(dy.count, [=](std::int64_t i) { dy[i] = dy[i] * (y[i] * (1.0F - y[i])); });
}

__global__ void hyperbolic_tangent(View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = tanhf(y[i]); });
}

__global__ void hyperbolic_tangent_gradient(View<const float> y, View<float> dy) {
  each_in_grid(dy.count, [=](std::int64_t i) { dy[i] = dy[i] * (1.0F - y[i] * y[i]); });
}

}  // namespace lockstep::kernels
