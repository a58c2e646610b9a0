// Sigmoid and hyperbolic tangent, in place, and their gradients from the outputs alone.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// y = 1 / (1 + exp(-y))
__global__ void sigmoid(View<float> y);
inline Cost sigmoid_cost(std::int64_t n) { return {10.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

// dy *= y (1 - y), y the sigmoid's output
__global__ void sigmoid_gradient(View<const float> y, View<float> dy);
inline Cost sigmoid_gradient_cost(std::int64_t n) { return {3.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// y = tanh(y)
__global__ void hyperbolic_tangent(View<float> y);
inline Cost hyperbolic_tangent_cost(std::int64_t n) { return {10.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

// dy *= 1 - y^2, y the tangent's output
__global__ void hyperbolic_tangent_gradient(View<const float> y, View<float> dy);
inline Cost hyperbolic_tangent_gradient_cost(std::int64_t n) { return {3.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
