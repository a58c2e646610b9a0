// One oneDNN convolution primitive for a sub-batch of a certain size, with the reorder between the caller's layout of the filter and the
// primitive's. Activations are never reordered. Small 1 x 1 filters use our product instead (narrow_product.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>

#include "simulator/gpu/cudnn/convolution.h"
#include "simulator/gpu/cudnn/narrow_product.h"

namespace lockstep::sim::dnn {

class SubBatch {
 public:
  SubBatch() = default;
  SubBatch(const ConvolutionShape& shape, std::int64_t images);

  std::int64_t images() const { return images_; }
  std::size_t filter_bytes() const { return narrow_ ? product_.packed_bytes() : reordered_ ? filter_.get_size() : 0; }
  std::size_t scratchpad_bytes() const { return narrow_ ? 0 : scratchpad_.get_size(); }

  // Single precision, on this thread alone; w has the caller's layout. The slices hold the filter in the primitive's layout and its
  // scratchpad.
  void run(float* x, float* w, float* y, std::byte* filter_slice, std::byte* scratchpad) const;

 private:
  void multiply(float* x, float* w, float* y, float* packed) const;

  bool narrow_ = false;
  NarrowProduct product_;
  std::int64_t pixels_ = 0, channels_ = 0;
  Direction direction_ = Direction::forward;
  std::int64_t images_ = 0;
  bool reordered_ = false;
  dnnl::primitive compute_, reorder_;  // reorder: stored -> wished, or wished -> stored for the filter's gradient
  dnnl::memory::desc x_, y_, stored_, filter_, scratchpad_;
};

}  // namespace lockstep::sim::dnn
