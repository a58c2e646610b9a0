// What lesson 5 gives you.
#pragma once

#include "lesson.h"

namespace lesson {

// One replica at the end of its backward pass.
struct UpdateWork {
  Replica replica;                       // replica.buffer: the weights; replica.stream: the compute stream
  cudaStream_t communication = nullptr;  // the stream that computes the sum
  cudaEvent_t reduced = nullptr;         // an event of that GPU, for you to use
  const float* sum = nullptr;            // of all replicas' gradients: `count` floats, as the weights
  float* velocity = nullptr;             // `count` floats
};

// You write this one: it runs on the GPU, once for each weight.
inline void sgd_update(float& w, float& velocity, float g, float learning_rate, float momentum);

__global__ void sgd_kernel(View<float> w, View<float> velocity, View<const float> g, float learning_rate, float momentum) {
  if (threadIdx.x + blockIdx.x > 0) return;
  for (std::int64_t i = 0; i < w.count; ++i) sgd_update(w[i], velocity[i], g[i], learning_rate, momentum);
}

// Calls sgd_update for every weight of this replica, on its GPU, in its compute stream.
inline void launch_update(const UpdateWork& work, float learning_rate, float momentum) {
  CHECK_CUDA(cudaSetDevice(work.replica.device));
  cudaLaunchConfig_t config{};
  config.stream = work.replica.stream;
  lockstep::annotate_next_launch("update", {});
  const std::int64_t n = work.replica.count;
  CHECK_CUDA(cudaLaunchKernelEx(&config, sgd_kernel, View<float>{work.replica.buffer, n}, View<float>{work.velocity, n},
                                View<const float>{work.sum, n}, learning_rate, momentum));
}

}  // namespace lesson
