// Helpers of the tests of the virtual GPU.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <backend/view.h>
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/operation.h"

#define EXPECT_CUDA(call) EXPECT_EQ(cudaSuccess, call)
#define ASSERT_CUDA(call) ASSERT_EQ(cudaSuccess, call)

namespace lockstep::test {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sim::clear_device_errors();
    sim::set_schedule_seed(0);
    sim::set_kernel_mode(sim::KernelMode::fast);
    cudaSetDevice(0);
    cudaGetLastError();
  }
  void TearDown() override {
    sim::clear_device_errors();
    sim::set_schedule_seed(0);
    sim::set_kernel_mode(sim::KernelMode::fast);
  }
};

class TestStream {
 public:
  explicit TestStream(unsigned flags = cudaStreamNonBlocking) { EXPECT_CUDA(cudaStreamCreateWithFlags(&stream_, flags)); }
  ~TestStream() { cudaStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class TestEvent {
 public:
  explicit TestEvent(unsigned flags = cudaEventDefault) { EXPECT_CUDA(cudaEventCreateWithFlags(&event_, flags)); }
  ~TestEvent() { cudaEventDestroy(event_); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { EXPECT_CUDA(cudaMalloc(&data_, count * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { set(values); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void set(const std::vector<T>& values) {
    EXPECT_CUDA(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaDeviceSynchronize());
  }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    EXPECT_CUDA(cudaDeviceSynchronize());
    EXPECT_CUDA(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  View<T> view() const { return {data_, static_cast<std::int64_t>(count_)}; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

// Keeps a stream where it is until released.
class Hold {
 public:
  explicit Hold(cudaStream_t stream) : gate_(sim::make_gate(sim::kOpenedFromOutside, "hold")) {
    EXPECT_CUDA(sim::enqueue_gate(stream, gate_));
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void release() { sim::open_gate(gate_); }

 private:
  std::shared_ptr<sim::Gate> gate_;
};

// Writes down in which order operations ran.
class RunLog {
 public:
  RunLog() = default;
  ~RunLog() { sim::wait_for_all_devices(); }  // what is still queued may write here
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void note(cudaStream_t stream, const std::string& what, int parts = 1) {
    sim::Operation operation;
    operation.kind = sim::OperationKind::marker;
    operation.name = what;
    operation.parts = parts;
    operation.run = [this, what](int) { add(what); };
    EXPECT_CUDA(sim::enqueue(stream, std::move(operation)));
  }
  void add(const std::string& what) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(what);
  }
  std::vector<std::string> entries() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  std::string text() const {
    std::string all;
    for (const std::string& entry : entries()) all += entry;
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> entries_;
};

inline cudaLaunchConfig_t configuration(unsigned blocks, unsigned threads, cudaStream_t stream = nullptr) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  return config;
}

}  // namespace lockstep::test
