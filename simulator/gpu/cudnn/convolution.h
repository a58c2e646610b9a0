// A dense 2-D convolution on the CPU: planned once for a shape, run by parts of the batch.
//
// Activations are packed NHWC, filters are read and written as the caller's strides say. Each part is a sub-batch and runs one
// single-threaded oneDNN primitive; the filter's gradient is a sum over parts in a fixed order. 16-bit tensors are widened to float,
// summed in float and rounded once, when the result is stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "simulator/gpu/runtime/operation.h"
#include "simulator/gpu/runtime/storage.h"

namespace lockstep::sim::dnn {

enum class Direction { forward, backward_data, backward_filter };

// What follows a forward convolution before its result is stored: y = relu(convolution + addend + bias), each step if asked for.
struct Epilogue {
  bool addend = false;  // of y's shape
  bool bias = false;    // one for each filter
  bool relu = false;
  float upper_clip = 0;  // of the relu; infinity: none

  bool any() const { return addend || bias || relu; }
};

struct ConvolutionShape {
  Direction direction = Direction::forward;
  Storage storage = Storage::f32;                // of all tensors
  std::int64_t n = 0, c = 0, h = 0, w = 0;       // images
  std::int64_t k = 0, r = 0, s = 0, groups = 1;  // filters: k of c / groups channels, r x s
  std::int64_t out_h = 0, out_w = 0;             // output: n x out_h x out_w x k
  std::array<std::int64_t, 2> pre{}, post{};     // zero padding above and left, below and right
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilations{1, 1};
  std::array<std::int64_t, 4> filter_strides{};  // of k, c, r, s
  float alpha = 1, beta = 0;                     // result = alpha * computed + beta * what was there
  Epilogue epilogue;                             // forward only

  std::int64_t image_elements() const { return n * c * h * w; }
  std::int64_t filter_elements() const { return k * (c / groups) * r * s; }
  std::int64_t output_elements() const { return n * k * out_h * out_w; }
  Cost cost() const;
};

// Addresses of an execution; the direction says which of x, w and y is written.
struct ConvolutionPointers {
  void *x = nullptr, *w = nullptr, *y = nullptr;
  const void *addend = nullptr, *bias = nullptr;
};

class ConvolutionPlan {
 public:
  // `parts` sub-batches; 0: as many as the cost of the shape is worth.
  explicit ConvolutionPlan(const ConvolutionShape& shape, int parts = 0);
  ~ConvolutionPlan();
  ConvolutionPlan(const ConvolutionPlan&) = delete;
  ConvolutionPlan& operator=(const ConvolutionPlan&) = delete;

  const ConvolutionShape& shape() const { return shape_; }
  std::size_t workspace_bytes() const;

  // Appends the convolution to the stream. The plan stays alive until it has run. Device addresses.
  static cudaError_t enqueue(const std::shared_ptr<const ConvolutionPlan>& plan, cudaStream_t stream, const ConvolutionPointers& pointers,
                             void* workspace);

 private:
  struct Primitives;
  void run_part(int part, const ConvolutionPointers& pointers, std::byte* workspace) const;
  void finish(const ConvolutionPointers& pointers, float* computed, std::int64_t first, std::int64_t count) const;
  void sum_partial_filters(int part, int parts, void* w, const std::byte* workspace) const;

  ConvolutionShape shape_;
  std::unique_ptr<Primitives> primitives_;
};

}  // namespace lockstep::sim::dnn
