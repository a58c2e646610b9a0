// A convolution described in one structure, the cuDNN graph made from it, and a plain loop that computes the same.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/simulator/gpu/support/device.h"
#include "tests/simulator/gpu/support/narrow.h"

namespace lockstep::test {

enum class Direction { forward, backward_data, backward_filter };

struct ConvolutionCase {
  Direction direction = Direction::forward;
  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1, groups = 1;
  std::array<std::int64_t, 2> pre{}, post{}, strides{1, 1}, dilations{1, 1};
  bool channels_first_filter = false;  // KCRS instead of KRSC
  float alpha = 1, beta = 0;
  Narrow type = Narrow::f32;                        // of all tensors
  bool addend = false, bias = false, relu = false;  // forward only: y = relu(convolution + addend + bias)
  float upper_clip = std::numeric_limits<float>::infinity();

  std::int64_t out(int d) const {
    const std::int64_t size = d == 0 ? h : w, taps = d == 0 ? r : s;
    return (size + pre[static_cast<std::size_t>(d)] + post[static_cast<std::size_t>(d)] -
            dilations[static_cast<std::size_t>(d)] * (taps - 1) - 1) /
               strides[static_cast<std::size_t>(d)] +
           1;
  }
  bool fused() const { return addend || bias || relu; }
  std::int64_t channels() const { return c / groups; }  // of one filter
  std::int64_t image_elements() const { return n * c * h * w; }
  std::int64_t filter_elements() const { return k * channels() * r * s; }
  std::int64_t output_elements() const { return n * k * out(0) * out(1); }
  std::vector<std::int64_t> filter_strides() const;
  std::string text() const;
};

ConvolutionCase random_convolution(Random& random, Direction direction);

// Owns a backend descriptor; set calls expect success.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { EXPECT_EQ(cudnnBackendCreateDescriptor(type, &raw_), CUDNN_STATUS_SUCCESS); }
  ~Descriptor() {
    if (raw_) {
      EXPECT_EQ(cudnnBackendDestroyDescriptor(raw_), CUDNN_STATUS_SUCCESS);
    }
  }
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  cudnnBackendDescriptor_t raw() const { return raw_; }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(raw_); }
  Descriptor& ints(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    EXPECT_EQ(cudnnBackendSetAttribute(raw_, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data()),
              CUDNN_STATUS_SUCCESS);
    return *this;
  }
  template <typename T>
  Descriptor& one(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    EXPECT_EQ(cudnnBackendSetAttribute(raw_, name, type, 1, &value), CUDNN_STATUS_SUCCESS);
    return *this;
  }
  Descriptor& one(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return one(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.raw());
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

class DnnHandle {
 public:
  DnnHandle() { EXPECT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS); }
  ~DnnHandle() { EXPECT_EQ(cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS); }
  DnnHandle(const DnnHandle&) = delete;
  DnnHandle& operator=(const DnnHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

std::vector<std::int64_t> channels_last(const std::vector<std::int64_t>& dims);
Descriptor make_tensor(std::int64_t uid, const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                       cudnnDataType_t type = CUDNN_DATA_FLOAT, bool is_virtual = false);
Descriptor make_operation(const ConvolutionCase& c, const std::vector<std::int64_t>& filter_strides);
Descriptor make_graph(const DnnHandle& handle, const Descriptor& operation);
Descriptor make_graph(const DnnHandle& handle, const ConvolutionCase& c);  // with what comes after the convolution
Descriptor make_heuristic(const Descriptor& graph, cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A);
std::int64_t results_of(const Descriptor& heuristic);
Descriptor make_plan(const DnnHandle& handle, const Descriptor& heuristic);  // of the first result
std::int64_t workspace_of(const Descriptor& plan);
Descriptor make_pack(const std::vector<void*>& pointers,
                     void* workspace);  // uids 1 (images), 2 (filter), 3 (output), and 4 (addend), 5 (bias) if given

struct ConvolutionData {
  std::vector<float> x, w, y, addend, bias;
};
ConvolutionData random_data(const ConvolutionCase& c, Random& random);

// What the direction writes, after the library computed it.
std::vector<float> run_convolution(const DnnHandle& handle, const ConvolutionCase& c, const ConvolutionData& data);

// Compares with seven nested loops in double precision: at most the rounding of sums in float away, and of one rounding to the type.
void expect_convolution(const ConvolutionCase& c, const ConvolutionData& data, const std::vector<float>& got);

}  // namespace lockstep::test
