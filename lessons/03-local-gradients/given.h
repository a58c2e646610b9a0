// What lesson 3 gives you.
#pragma once

#include "lesson.h"

namespace lesson {

// What one replica works on, all in its GPU's memory.
struct LocalWork {
  Replica replica;            // replica.buffer: the weights, `numbers` of them
  Range shard;                // which samples of the global batch these are
  const float* x = nullptr;   // shard.count samples of `numbers` floats each
  const float* y = nullptr;   // shard.count targets
  float* gradient = nullptr;  // `numbers` floats
  std::int64_t numbers = 0;   // of a sample, and so of the weights
  // Another model's kernel with this weight of a sample; lesson 7 has one.
  std::function<void(float weight)> launch_model;
};

// You write this one: it runs on the GPU, once for each sample.
inline void add_gradient(const float* x, float y, const float* w, std::int64_t numbers, float weight, float* gradient);

__global__ void gradient_kernel(View<const float> x, View<const float> y, View<const float> w, float weight, View<float> gradient) {
  if (threadIdx.x + blockIdx.x > 0) return;  // one thread does all of it; lesson 14 uses more
  for (std::int64_t s = 0; s < y.count; ++s) add_gradient(x.data + s * w.count, y[s], w.data, w.count, weight, gradient.data);
}

// Calls add_gradient for every sample of the shard, on the replica's GPU, in its stream.
inline void launch_gradients(const LocalWork& work, float weight) {
  if (work.shard.count == 0) return;
  if (work.launch_model) return work.launch_model(weight);
  CHECK_CUDA(cudaSetDevice(work.replica.device));
  cudaLaunchConfig_t config{};
  config.stream = work.replica.stream;
  lockstep::annotate_next_launch("gradients", {});
  CHECK_CUDA(cudaLaunchKernelEx(&config, gradient_kernel, View<const float>{work.x, work.shard.count * work.numbers},
                                View<const float>{work.y, work.shard.count}, View<const float>{work.replica.buffer, work.numbers}, weight,
                                View<float>{work.gradient, work.numbers}));
}

}  // namespace lesson
