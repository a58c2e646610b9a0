// Given in lesson 7: the six phases, as you built them, for a model of one layer with 784 pixels and 10 digits.
#pragma once

#include "lesson.h"

namespace lesson {

constexpr std::int64_t kPixels = 784, kDigits = 10, kWeights = kPixels * kDigits + kDigits;

// One sample's part: scores = x W + b, loss = -log softmax(scores)[label]; gradient and loss are added to.
__global__ void digit_kernel(View<const float> x, View<const std::int32_t> y, View<const float> w, float weight, View<float> gradient,
                             View<float> loss) {
  if (threadIdx.x + blockIdx.x > 0) return;
  for (std::int64_t s = 0; s < y.count; ++s) {
    const float* pixels = x.data + s * kPixels;
    float scores[kDigits];
    for (std::int64_t c = 0; c < kDigits; ++c) scores[c] = w.data[kPixels * kDigits + c];
    for (std::int64_t p = 0; p < kPixels; ++p) {
      if (pixels[p] == 0) continue;
      for (std::int64_t c = 0; c < kDigits; ++c) scores[c] += pixels[p] * w.data[p * kDigits + c];
    }
    const float most = *std::max_element(scores, scores + kDigits);
    float sum = 0;
    for (float& score : scores) sum += score = std::exp(score - most);
    loss.data[0] -= weight * std::log(scores[y[s]] / sum);
    for (std::int64_t c = 0; c < kDigits; ++c) {
      scores[c] = weight * (scores[c] / sum - (c == y[s] ? 1.0F : 0.0F));
      gradient.data[kPixels * kDigits + c] += scores[c];
    }
    for (std::int64_t p = 0; p < kPixels; ++p) {
      if (pixels[p] == 0) continue;
      for (std::int64_t c = 0; c < kDigits; ++c) gradient.data[p * kDigits + c] += pixels[p] * scores[c];
    }
  }
}

__global__ void descend_kernel(View<float> w, View<const float> gradient, float learning_rate) {
  if (threadIdx.x + blockIdx.x > 0) return;
  for (std::int64_t i = 0; i < w.count; ++i) w.data[i] -= learning_rate * gradient.data[i];
}

// Each phase queues work in streams and returns; only `barrier` waits. You wrote each of them in a lesson before.
class Trainer {
 public:
  Trainer(int replicas, std::int64_t largest_batch);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  int replicas() const { return static_cast<int>(parts_.size()); }

  void replicate();                                                            // 1: replica 0's weights to all others
  std::vector<Range> cut_batch(std::int64_t samples) const;                    // 2: a range for each replica
  void send(int replica, const float* x, const std::int32_t* y, Range shard);  // 2: x and y are those of the whole batch
  void local_gradients(int replica, Range shard, std::int64_t global_batch);   // 3
  void all_reduce();                                                           // 4: of all replicas' gradients
  void update(int replica, float learning_rate);                               // 5
  void barrier();                                                              // 6: the host waits for all replicas
  double loss(int replica) const;                                              // after the barrier: sum(loss of its samples) / global batch

  std::vector<float> weights(int replica) const;  // waits
  const std::vector<std::string>& log() const { return log_; }

 private:
  struct Part {
    Replica weights;   // buffer: the weights
    Replica gradient;  // buffer: the gradient; the same stream
    float* x = nullptr;
    std::int32_t* y = nullptr;
    float *loss = nullptr, *loss_on_host = nullptr;
  };
  template <typename... Parameters, typename... Arguments>
  void launch(const Part& part, const char* name, void (*kernel)(Parameters...), Arguments... arguments) {
    CHECK_CUDA(cudaSetDevice(part.weights.device));
    cudaLaunchConfig_t config{};
    config.stream = part.weights.stream;
    lockstep::annotate_next_launch(name, {});
    CHECK_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
  }
  const Part& part(int replica) const { return parts_.at(static_cast<std::size_t>(replica)); }

  std::vector<Part> parts_;
  std::vector<std::string> log_;
};

inline Trainer::Trainer(int replicas, std::int64_t largest_batch) {
  for (int r = 0; r < replicas; ++r) {
    CHECK_CUDA(cudaSetDevice(r));
    Part part;
    Replica& w = part.weights;
    w.device = r;
    w.count = kWeights;
    const auto samples = static_cast<std::size_t>(largest_batch);
    CHECK_CUDA(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&w.ready, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&w.buffer, kWeights * 4));
    part.gradient = w;
    CHECK_CUDA(cudaMalloc(&part.gradient.buffer, kWeights * 4));
    CHECK_CUDA(cudaMalloc(&part.gradient.staging, kWeights * 4));
    CHECK_CUDA(cudaMalloc(&part.x, samples * kPixels * 4));
    CHECK_CUDA(cudaMalloc(&part.y, samples * 4));
    CHECK_CUDA(cudaMalloc(&part.loss, 4));
    CHECK_CUDA(cudaMallocHost(&part.loss_on_host, 4));
    // Every replica starts with different weights.
    std::vector<float> first(kWeights);
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = 0.02F * (static_cast<float>((i * 7919 + static_cast<std::size_t>(r) * 104729 + 13) % 2003) / 1001.5F - 1);
    CHECK_CUDA(cudaMemcpy(w.buffer, first.data(), kWeights * 4, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaDeviceSynchronize());
    parts_.push_back(part);
  }
}

inline Trainer::~Trainer() {
  for (const Part& part : parts_) {
    cudaSetDevice(part.weights.device);
    cudaDeviceSynchronize();
  }
  for (const Part& part : parts_) {
    cudaSetDevice(part.weights.device);
    for (void* memory :
         {static_cast<void*>(part.weights.buffer), static_cast<void*>(part.gradient.buffer), static_cast<void*>(part.gradient.staging),
          static_cast<void*>(part.x), static_cast<void*>(part.y), static_cast<void*>(part.loss)})
      cudaFree(memory);
    cudaFreeHost(part.loss_on_host);
    cudaEventDestroy(part.weights.ready);
    cudaStreamDestroy(part.weights.stream);
  }
  cudaSetDevice(0);
}

inline void Trainer::replicate() {
  log_.push_back("replicate");
  const Replica& first = parts_[0].weights;
  CHECK_CUDA(cudaEventRecord(first.ready, first.stream));
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    const Replica& to = parts_[r].weights;
    CHECK_CUDA(cudaStreamWaitEvent(to.stream, first.ready, 0));
    CHECK_CUDA(cudaMemcpyPeerAsync(to.buffer, to.device, first.buffer, first.device, kWeights * 4, to.stream));
    CHECK_CUDA(cudaEventRecord(to.ready, to.stream));
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, to.ready, 0));
  }
}

inline std::vector<Range> Trainer::cut_batch(std::int64_t samples) const {
  std::vector<Range> shards;
  for (std::int64_t r = 0, first = 0, n = replicas(); r < n; ++r) {
    shards.push_back({first, samples / n + (r < samples % n ? 1 : 0)});
    first += shards.back().count;
  }
  return shards;
}

inline void Trainer::send(int replica, const float* x, const std::int32_t* y, Range shard) {
  log_.push_back("send to " + std::to_string(replica));
  const Part& to = part(replica);
  if (shard.count == 0) return;
  const auto count = static_cast<std::size_t>(shard.count);
  CHECK_CUDA(cudaMemcpyAsync(to.x, x + shard.first * kPixels, count * kPixels * 4, cudaMemcpyHostToDevice, to.weights.stream));
  CHECK_CUDA(cudaMemcpyAsync(to.y, y + shard.first, count * 4, cudaMemcpyHostToDevice, to.weights.stream));
}

inline void Trainer::local_gradients(int replica, Range shard, std::int64_t global_batch) {
  log_.push_back("gradients of " + std::to_string(replica));
  const Part& here = part(replica);
  CHECK_CUDA(cudaMemsetAsync(here.gradient.buffer, 0, kWeights * 4, here.weights.stream));
  CHECK_CUDA(cudaMemsetAsync(here.loss, 0, 4, here.weights.stream));
  if (shard.count > 0) {
    launch(here, "gradients", digit_kernel, View<const float>{here.x, shard.count * kPixels}, View<const std::int32_t>{here.y, shard.count},
           View<const float>{here.weights.buffer, kWeights}, 1.0F / static_cast<float>(global_batch),
           View<float>{here.gradient.buffer, kWeights}, View<float>{here.loss, 1});
  }
  CHECK_CUDA(cudaMemcpyAsync(here.loss_on_host, here.loss, 4, cudaMemcpyDeviceToHost, here.weights.stream));
}

// To one device and back, part 1 of lesson 4.
inline void Trainer::all_reduce() {
  log_.push_back("all-reduce");
  const Replica& first = parts_[0].gradient;
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    const Replica& from = parts_[r].gradient;
    CHECK_CUDA(cudaEventRecord(from.ready, from.stream));
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, from.ready, 0));
    CHECK_CUDA(cudaMemcpyPeerAsync(first.staging, first.device, from.buffer, from.device, kWeights * 4, first.stream));
    add(first, first.staging, first.buffer, kWeights);
  }
  CHECK_CUDA(cudaEventRecord(first.ready, first.stream));
  for (std::size_t r = 1; r < parts_.size(); ++r) {
    const Replica& to = parts_[r].gradient;
    CHECK_CUDA(cudaStreamWaitEvent(to.stream, first.ready, 0));
    CHECK_CUDA(cudaMemcpyPeerAsync(to.buffer, to.device, first.buffer, first.device, kWeights * 4, to.stream));
    CHECK_CUDA(cudaEventRecord(to.ready, to.stream));
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, to.ready, 0));
  }
}

inline void Trainer::update(int replica, float learning_rate) {
  log_.push_back("update " + std::to_string(replica));
  const Part& here = part(replica);
  launch(here, "update", descend_kernel, View<float>{here.weights.buffer, kWeights}, View<const float>{here.gradient.buffer, kWeights},
         learning_rate);
}

inline void Trainer::barrier() {
  log_.push_back("barrier");
  for (const Part& part : parts_) CHECK_CUDA(cudaStreamSynchronize(part.weights.stream));
}

inline double Trainer::loss(int replica) const { return static_cast<double>(*part(replica).loss_on_host); }

inline std::vector<float> Trainer::weights(int replica) const {
  const Replica& from = part(replica).weights;
  CHECK_CUDA(cudaStreamSynchronize(from.stream));
  std::vector<float> values(kWeights);
  CHECK_CUDA(cudaMemcpy(values.data(), from.buffer, kWeights * 4, cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace lesson
