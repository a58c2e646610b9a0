// Device memory, streams and random numbers for the tests of the virtual libraries.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace lockstep::test {

class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(generator_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(int percent) { return integer(1, 100) <= percent; }
  float real() { return static_cast<float>(generator_()) / 2147483648.0F - 1.0F; }  // [-1, 1)
  std::vector<float> reals(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = real();
    return values;
  }

 private:
  std::mt19937 generator_;
};

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

// Floats in device memory.
class DeviceArray {
 public:
  // Zeros, so that nothing uninitialised is read in check mode either.
  explicit DeviceArray(std::size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(&data_, (count + 1) * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data_, 0, (count + 1) * sizeof(float)), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  explicit DeviceArray(const std::vector<float>& values) : DeviceArray(values.size()) { upload(values); }
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  float* data() const { return static_cast<float*>(data_); }
  void upload(const std::vector<float>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    // From pageable memory the call may return before the bytes have arrived, and a non-blocking stream does not wait for them.
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  std::vector<float> download() const {
    std::vector<float> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace lockstep::test
