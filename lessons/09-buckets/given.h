// Given in lesson 9: a backward pass, layer by layer, on several replicas.
#pragma once

#include "lesson.h"

namespace lesson {

// Layers [first_layer, first_layer + layers) in the order in which backward makes them ready, and their place in the gradient.
struct Bucket {
  int first_layer = 0;
  int layers = 0;
  Range numbers;
};

struct OverlapReplica {
  Replica replica;  // replica.stream: compute; replica.buffer: the gradient, layer after layer in the order of backward
  cudaStream_t communication = nullptr;  // for all-reduce
};

// Queues work in the replicas' streams and returns at once.
class Backward {
 public:
  Backward(int replicas, std::vector<std::int64_t> sizes);
  ~Backward();
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

  const std::vector<OverlapReplica>& replicas() const { return replicas_; }
  int layers() const { return static_cast<int>(sizes_.size()); }

  void gradient(int layer);           // of that layer, on all replicas, in their compute streams
  void reduce(const Bucket& bucket);  // sums that part of the gradient over all replicas, in their communication streams

  // For the tests.
  struct Entry {
    bool reduce = false;
    int layer = 0;  // computed, or the last one of the bucket
  };
  const std::vector<Entry>& log() const { return log_; }
  std::vector<float> gradient_of(int replica) const;

 private:
  std::vector<OverlapReplica> replicas_;
  std::vector<std::int64_t> sizes_, offsets_;
  std::vector<Entry> log_;
};

__global__ void layer_kernel(float value, View<float> gradient) {
  lockstep::each_in_grid(gradient.count, [=](std::int64_t i) { gradient[i] = value; });
}

inline Backward::Backward(int replicas, std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
  std::int64_t count = 0;
  for (const std::int64_t size : sizes_) {
    offsets_.push_back(count);
    count += size;
  }
  for (int r = 0; r < replicas; ++r) {
    CHECK_CUDA(cudaSetDevice(r));
    OverlapReplica one;
    one.replica.device = r;
    one.replica.count = count;
    CHECK_CUDA(cudaStreamCreateWithFlags(&one.replica.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&one.communication, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&one.replica.ready, cudaEventDisableTiming));
    CHECK_CUDA(cudaMalloc(&one.replica.buffer, static_cast<std::size_t>(count) * 4));
    CHECK_CUDA(cudaMalloc(&one.replica.staging, static_cast<std::size_t>(count) * 4));
    const std::string owner = "replica " + std::to_string(r) + "'s ";
    name_stream(one.replica.stream, owner + "compute stream");
    name_stream(one.communication, owner + "communication stream");
    name_memory(one.replica.buffer, owner + "gradient");
    replicas_.push_back(one);
  }
  cudaSetDevice(0);
}

inline Backward::~Backward() {
  for (const OverlapReplica& one : replicas_) {
    cudaSetDevice(one.replica.device);
    (cudaDeviceSynchronize)();
  }
  for (const OverlapReplica& one : replicas_) {
    cudaSetDevice(one.replica.device);
    cudaFree(one.replica.buffer);
    cudaFree(one.replica.staging);
    cudaEventDestroy(one.replica.ready);
    cudaStreamDestroy(one.replica.stream);
    cudaStreamDestroy(one.communication);
  }
  cudaSetDevice(0);
}

inline void Backward::gradient(int layer) {
  log_.push_back({false, layer});
  const auto at = static_cast<std::size_t>(layer);
  for (const OverlapReplica& one : replicas_) {
    CHECK_CUDA(cudaSetDevice(one.replica.device));
    cudaLaunchConfig_t config{};
    config.stream = one.replica.stream;
    lockstep::annotate_next_launch("gradient of a layer", {});
    CHECK_CUDA(cudaLaunchKernelEx(&config, layer_kernel, static_cast<float>((layer + 1) * (one.replica.device + 1)),
                                  View<float>{one.replica.buffer + offsets_[at], sizes_[at]}));
  }
}

// To one device and back, as in lesson 4, among the communication streams.
inline void Backward::reduce(const Bucket& bucket) {
  log_.push_back({true, bucket.first_layer + bucket.layers - 1});
  if (bucket.numbers.count == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(bucket.numbers.count) * 4;
  const std::int64_t at = bucket.numbers.first;
  Replica first = replicas_[0].replica;
  first.stream = replicas_[0].communication;
  std::vector<cudaEvent_t> events;
  for (const OverlapReplica& one : replicas_) {
    CHECK_CUDA(cudaSetDevice(one.replica.device));
    events.emplace_back();
    CHECK_CUDA(cudaEventCreateWithFlags(&events.back(), cudaEventDisableTiming));
  }
  for (std::size_t r = 1; r < replicas_.size(); ++r) {
    const Replica& from = replicas_[r].replica;
    CHECK_CUDA(cudaEventRecord(events[r], replicas_[r].communication));
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, events[r], 0));
    CHECK_CUDA((cudaMemcpyPeerAsync)(first.staging + at, 0, from.buffer + at, from.device, bytes, first.stream));
    add(first, first.staging + at, first.buffer + at, bucket.numbers.count);
  }
  CHECK_CUDA(cudaEventRecord(events[0], first.stream));
  for (std::size_t r = 1; r < replicas_.size(); ++r) {
    const Replica& to = replicas_[r].replica;
    CHECK_CUDA(cudaStreamWaitEvent(replicas_[r].communication, events[0], 0));
    CHECK_CUDA((cudaMemcpyPeerAsync)(to.buffer + at, to.device, first.buffer + at, 0, bytes, replicas_[r].communication));
    CHECK_CUDA(cudaEventRecord(events[r], replicas_[r].communication));
    CHECK_CUDA(cudaStreamWaitEvent(first.stream, events[r], 0));
  }
  for (cudaEvent_t event : events) cudaEventDestroy(event);
}

inline std::vector<float> Backward::gradient_of(int replica) const {
  const Replica& from = replicas_[static_cast<std::size_t>(replica)].replica;
  std::vector<float> values(static_cast<std::size_t>(from.count));
  CHECK_CUDA(cudaSetDevice(from.device));
  CHECK_CUDA((cudaDeviceSynchronize)());
  CHECK_CUDA(cudaMemcpy(values.data(), from.buffer, values.size() * 4, cudaMemcpyDeviceToHost));
  cudaSetDevice(0);
  return values;
}

}  // namespace lesson
