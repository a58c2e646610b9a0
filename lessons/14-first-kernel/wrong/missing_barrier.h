// Wrong: no barrier inside the loop over halves.
// Says: the sum of block 0 should be
#pragma once

#include "lesson.h"

namespace lesson {

__global__ void saxpy(float a, View<const float> x, View<float> y) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < y.count; i += threads) y[i] = a * x[i] + y[i];
}

inline unsigned blocks_for(std::int64_t n, unsigned threads) { return static_cast<unsigned>((n + threads - 1) / threads); }

__global__ void block_sums(View<const float> x, View<float> sums) {
  __shared__ float shared[256];
  const unsigned t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + t;
  shared[t] = i < x.count ? x[i] : 0.0F;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) shared[t] += shared[t + half];
  }
  if (t == 0) sums[blockIdx.x] = shared[0];
}

}  // namespace lesson
