// Clipping gradients, by value or by norm.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// x = min(max(x, -limit), limit)
__global__ void clip_value(float limit, View<float> x);
// parts[k] = sum of squares, in double, over the k-th of parts.count equal runs of x.
__global__ void square_sums(View<const float> x, View<double> parts);
// x *= limit / max(limit, square root of the sum of parts)
__global__ void clip_norm(float limit, View<const double> parts, View<float> x);
inline Cost clip_cost(std::int64_t n) { return {2.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)}; }

}  // namespace lockstep::kernels
