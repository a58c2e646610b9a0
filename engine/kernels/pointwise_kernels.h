// One element at a time: sums of two, clipping (a ReLU with an upper bound), scaling, dropout.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>
#include "engine/kernels/random_key.h"

namespace lockstep::kernels {

// z = x + y
__global__ void sum_of_two(View<const float> x, View<const float> y, View<float> z);
inline Cost sum_of_two_cost(std::int64_t n) { return {1.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// y = x held between low and high. y may be x.
__global__ void clip(View<const float> x, View<float> y, float low, float high);
inline Cost clip_cost(std::int64_t n) { return {2.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

// dy = dy where low < y < high, else 0, in place: y is clip's output.
__global__ void clip_gradient(View<const float> y, View<float> dy, float low, float high);
inline Cost clip_gradient_cost(std::int64_t n) { return {2.0 * static_cast<double>(n), 12.0 * static_cast<double>(n)}; }

// y = x * factor + offset. y may be x.
__global__ void scale_and_shift(View<const float> x, View<float> y, float factor, float offset);
inline Cost scale_and_shift_cost(std::int64_t n) { return {2.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

// y = x / (1 - rate) where the element's draw is at least rate, else 0; a sample has `elements` of them. y may be x. Applied to a
// gradient it goes back the same way.
__global__ void dropout(RandomKey key, View<const float> x, View<float> y, std::int64_t elements, float rate);
inline Cost dropout_cost(std::int64_t n) { return {16.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
