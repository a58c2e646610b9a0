// A table of kernels with random arguments and plain nested-loop references. Every test of kernels runs over this table, and one
// compares it with the kernels that are in the library: none can be forgotten.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <backend/view.h>
#include "engine/device/check.h"
#include "engine/device/launch.h"
#include "engine/device/stream.h"
#include "engine/kernels/random_key.h"

namespace lockstep::testing {

using Random = std::mt19937;

// Memory of the device with the values it has before each launch.
class DeviceBytes {
 public:
  DeviceBytes(const void* initial, std::size_t bytes, bool written) : initial_(bytes), written_(written) {
    if (bytes > 0) std::memcpy(initial_.data(), initial, bytes);
    LOCKSTEP_CHECK(cudaMalloc(&data_, bytes > 0 ? bytes : 1));
  }
  ~DeviceBytes() { static_cast<void>(cudaFree(data_)); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  void reset() const { LOCKSTEP_CHECK(cudaMemcpy(data_, initial_.data(), initial_.size(), cudaMemcpyHostToDevice)); }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(initial_.size());
    LOCKSTEP_CHECK(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDeviceToHost));
    return bytes;
  }
  bool written() const { return written_; }
  void* data() const { return data_; }

 private:
  std::vector<unsigned char> initial_;
  bool written_;
  void* data_ = nullptr;
};

// Values of an argument: as they were before the launch, and as the device has them now.
template <typename T>
class Argument {
 public:
  Argument(std::vector<T> initial, const DeviceBytes* bytes) : initial_(std::move(initial)), bytes_(bytes) {}

  const std::vector<T>& initial() const { return initial_; }
  std::vector<T> now() const {
    std::vector<T> values(initial_.size());
    const auto bytes = bytes_->read();
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  View<const T> read() const { return {static_cast<const T*>(bytes_->data()), static_cast<std::int64_t>(initial_.size())}; }
  View<T> write() const { return {static_cast<T*>(bytes_->data()), static_cast<std::int64_t>(initial_.size())}; }

 private:
  std::vector<T> initial_;
  const DeviceBytes* bytes_;
};

// One kernel with concrete arguments.
class KernelInstance {
 public:
  std::string shape;                                           // for messages
  std::function<void(const Stream& stream, Grid grid)> start;  // launches it
  std::function<void()> check;                                 // compares what was written with plain loops

  template <typename T>
  Argument<T> input(std::vector<T> values) {
    return make(std::move(values), false);
  }
  template <typename T>
  Argument<T> in_out(std::vector<T> values) {
    return make(std::move(values), true);
  }
  // Starts as a value that is wrong everywhere, so that an element that was not written shows.
  template <typename T>
  Argument<T> output(std::int64_t count) {
    return make(std::vector<T>(static_cast<std::size_t>(count), static_cast<T>(12345)), true);
  }

  void run(const Stream& stream, Grid grid) const {
    for (const auto& bytes : memory_) bytes->reset();
    start(stream, grid);
    stream.synchronize();
  }
  std::vector<std::vector<unsigned char>> written() const {
    std::vector<std::vector<unsigned char>> all;
    for (const auto& bytes : memory_) {
      if (bytes->written()) all.push_back(bytes->read());
    }
    return all;
  }

 private:
  template <typename T>
  Argument<T> make(std::vector<T> values, bool written) {
    memory_.push_back(std::make_unique<DeviceBytes>(values.data(), values.size() * sizeof(T), written));
    return Argument<T>(std::move(values), memory_.back().get());
  }
  std::vector<std::unique_ptr<DeviceBytes>> memory_;
};

struct KernelCase {
  std::string kernel;  // its name in lockstep::kernels
  std::function<void(Random& random, KernelInstance& instance)> make;
};

const std::vector<KernelCase>& kernel_cases();

std::vector<KernelCase> elementwise_cases();
std::vector<KernelCase> activation_cases();
std::vector<KernelCase> loss_cases();
std::vector<KernelCase> optimizer_cases();
std::vector<KernelCase> pooling_cases();
std::vector<KernelCase> convolution_cases();
std::vector<KernelCase> convolution_pooling_cases();
std::vector<KernelCase> depthwise_cases();
std::vector<KernelCase> batch_norm_cases();
std::vector<KernelCase> image_cases();
std::vector<KernelCase> pointwise_cases();
std::vector<KernelCase> sequence_cases();
std::vector<KernelCase> dense_loss_cases();

inline std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
inline std::vector<float> normal(Random& random, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::normal_distribution<float> distribution;
  for (float& value : values) value = distribution(random);
  return values;
}
// Few different values, so that ties happen.
inline std::vector<float> coarse(Random& random, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = static_cast<float>(between(random, -2, 2));
  return values;
}

inline kernels::RandomKey any_key(Random& random) {
  return {static_cast<std::uint64_t>(between(random, 0, 1000)), static_cast<std::uint64_t>(between(random, 0, 1000)),
          between(random, 0, 1000), static_cast<std::uint32_t>(between(random, 0, 1000))};
}

inline bool same(float actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  return std::abs(static_cast<double>(actual) - expected) <= tolerance * (1 + std::abs(expected));
}
inline void expect_close(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(same(actual[i], expected[i], tolerance)) << "element " << i << " is " << actual[i] << ", not " << expected[i];
  }
}
// For long sums, where the largest element says how much rounding there is.
inline void expect_close_to_scale(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance) {
  double scale = 1;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  expect_close(actual, expected, tolerance * scale);
}

// Weights of samples in quarters, so that their sums are exact; or none, which counts every sample as 1.
inline std::vector<float> some_weights(Random& random, std::int64_t samples) {
  if (between(random, 0, 1) == 0) return {};
  std::vector<float> weights(static_cast<std::size_t>(samples));
  for (float& weight : weights) weight = 0.25F * static_cast<float>(between(random, 0, 8));
  return weights;
}
inline double weight_at(const std::vector<float>& weights, std::int64_t sample) {
  return weights.empty() ? 1 : weights[static_cast<std::size_t>(sample)];
}

}  // namespace lockstep::testing
