// Given in lesson 7: a model of one layer with 784 pixels and 10 digits, trained by the functions of lessons 1 to 6.
#pragma once

#include "lesson.h"
#include "phases.h"

namespace lesson {

// Weights: the 784 of digit 0, of digit 1, ..., then 10 biases.
constexpr std::int64_t kPixels = 784, kDigits = 10, kWeights = kPixels * kDigits + kDigits;

// scores = W x + b
inline void score_digits(const float* pixels, const float* w, float* scores) {
  for (std::int64_t c = 0; c < kDigits; ++c) {
    scores[c] = w[kPixels * kDigits + c];
    for (std::int64_t p = 0; p < kPixels; ++p) scores[c] += pixels[p] * w[c * kPixels + p];
  }
}

// One sample's part: loss = -log softmax(scores)[label]; gradient and loss are added to. For digit c the gradient is
// (softmax[c] - [c is the label]) x. Lesson 3's add_gradient adds 2 (p - y) x, which is the same with weights of 0, so p = 0, and
// y = -(softmax[c] - [c is the label]) / 2.
__global__ void digit_kernel(View<const float> x, View<const std::int32_t> y, View<const float> w, float weight, View<float> gradient,
                             View<float> loss) {
  if (threadIdx.x + blockIdx.x > 0) return;
  const std::array<float, kPixels> zeros{};
  const float one = 1;
  for (std::int64_t s = 0; s < y.count; ++s) {
    const float* const pixels = x.data + s * kPixels;
    std::array<float, kDigits> scores{};
    score_digits(pixels, w.data, scores.data());
    const float most = *std::max_element(scores.begin(), scores.end());
    float sum = 0;
    for (float& score : scores) sum += score = std::exp(score - most);
    loss.data[0] -= weight * std::log(scores[static_cast<std::size_t>(y[s])] / sum);
    for (std::int64_t c = 0; c < kDigits; ++c) {
      const float target = ((c == y[s] ? 1.0F : 0.0F) - scores[static_cast<std::size_t>(c)] / sum) / 2;
      phase3::add_gradient(pixels, target, zeros.data(), kPixels, weight, gradient.data + c * kPixels);
      phase3::add_gradient(&one, target, zeros.data(), 1, weight, gradient.data + kPixels * kDigits + c);
    }
  }
}

// Each phase queues work in streams and returns; only `barrier` waits. Each calls the function of its lesson.
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
    float* velocity = nullptr;
  };
  std::vector<Replica> all(Replica Part::*which) const {
    std::vector<Replica> replicas;
    for (const Part& part : parts_) replicas.push_back(part.*which);
    return replicas;
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
    CHECK_CUDA(cudaMalloc(&w.staging, kWeights * 4));
    part.gradient = w;
    CHECK_CUDA(cudaMalloc(&part.gradient.buffer, kWeights * 4));
    CHECK_CUDA(cudaMalloc(&part.velocity, kWeights * 4));
    CHECK_CUDA(cudaMemset(part.velocity, 0, kWeights * 4));
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
         {static_cast<void*>(part.weights.buffer), static_cast<void*>(part.gradient.buffer), static_cast<void*>(part.weights.staging),
          static_cast<void*>(part.x), static_cast<void*>(part.y), static_cast<void*>(part.loss), static_cast<void*>(part.velocity)})
      cudaFree(memory);
    cudaFreeHost(part.loss_on_host);
    cudaEventDestroy(part.weights.ready);
    cudaStreamDestroy(part.weights.stream);
  }
  cudaSetDevice(0);
}

inline void Trainer::replicate() {
  log_.push_back("replicate");
  phase1::replicate(all(&Part::weights));
}

inline std::vector<Range> Trainer::cut_batch(std::int64_t samples) const { return phase2::cut_batch(samples, replicas()); }

inline void Trainer::send(int replica, const float* x, const std::int32_t* y, Range shard) {
  log_.push_back("send to " + std::to_string(replica));
  const Part& to = part(replica);
  Replica images = to.weights;
  images.buffer = to.x;
  images.count = shard.count * kPixels;
  phase2::send_shards(x + shard.first * kPixels, kPixels, {{0, shard.count}}, {images});
  if (shard.count == 0) return;
  const auto bytes = static_cast<std::size_t>(shard.count) * sizeof(std::int32_t);
  CHECK_CUDA(cudaMemcpyAsync(to.y, y + shard.first, bytes, cudaMemcpyHostToDevice, to.weights.stream));
}

inline void Trainer::local_gradients(int replica, Range shard, std::int64_t global_batch) {
  log_.push_back("gradients of " + std::to_string(replica));
  const Part& here = part(replica);
  CHECK_CUDA(cudaMemsetAsync(here.loss, 0, 4, here.weights.stream));
  phase3::LocalWork work{here.weights, shard, here.x, nullptr, here.gradient.buffer, kWeights, nullptr};
  work.launch_model = [&](float weight) {
    CHECK_CUDA(cudaSetDevice(here.weights.device));
    cudaLaunchConfig_t config{};
    config.stream = here.weights.stream;
    lockstep::annotate_next_launch("gradients", {});
    CHECK_CUDA(cudaLaunchKernelEx(&config, digit_kernel, View<const float>{here.x, shard.count * kPixels},
                                  View<const std::int32_t>{here.y, shard.count}, View<const float>{here.weights.buffer, kWeights}, weight,
                                  View<float>{here.gradient.buffer, kWeights}, View<float>{here.loss, 1}));
  };
  phase3::local_gradients({work}, global_batch);
  CHECK_CUDA(cudaMemcpyAsync(here.loss_on_host, here.loss, 4, cudaMemcpyDeviceToHost, here.weights.stream));
}

inline void Trainer::all_reduce() {
  log_.push_back("all-reduce");
  phase4::ring_all_reduce(all(&Part::gradient));
}

inline void Trainer::update(int replica, float learning_rate) {
  log_.push_back("update " + std::to_string(replica));
  const Part& here = part(replica);
  const Replica& w = here.weights;
  phase5::update_all({{w, w.stream, w.ready, here.gradient.buffer, here.velocity}}, learning_rate, 0);
}

inline void Trainer::barrier() {
  log_.push_back("barrier");
  phase6::wait_for_all(all(&Part::weights));
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
