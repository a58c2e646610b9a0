// Dense 2-D convolution, NHWC activations and HWIO filters (Keras' layout), through cuDNN's graph API, or as a matrix product where it is
// one; where cuDNN's heuristics give no plan, a direct kernel of ours runs.
#pragma once

#include <memory>

#include "engine/ops/op_context.h"

namespace lockstep::ops {

struct ConvolutionSpec {
  std::int64_t batch = 0, height = 0, width = 0, in_channels = 0, out_channels = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  std::int64_t out_height() const { return (height + pad_top + pad_bottom - dilation_h * (kernel_h - 1) - 1) / stride_h + 1; }
  std::int64_t out_width() const { return (width + pad_left + pad_right - dilation_w * (kernel_w - 1) - 1) / stride_w + 1; }
};

class Convolution {
 public:
  Convolution(LogicalGpu& gpu, const ConvolutionSpec& spec, bool needs_input_gradient);
  static Convolution input_gradient_only(LogicalGpu& gpu, const ConvolutionSpec& spec);  // plans backward_data and nothing else
  ~Convolution();
  Convolution(Convolution&&) noexcept;
  Convolution& operator=(Convolution&&) noexcept;

  std::size_t scratch_bytes() const;
  bool uses_dnn() const;  // forward has a cuDNN plan; without one the direct kernel runs
  void forward(const OpContext& context, const Tensor& x, const Tensor& filter, const Tensor& y) const;
  void backward_data(const OpContext& context, const Tensor& dy, const Tensor& filter, const Tensor& dx) const;
  void backward_filter(const OpContext& context, const Tensor& x, const Tensor& dy, const Tensor& dfilter) const;

 private:
  struct Plans;
  explicit Convolution(const ConvolutionSpec& spec);
  std::unique_ptr<Plans> plans_;
};

}  // namespace lockstep::ops
