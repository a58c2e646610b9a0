// Dense 2-D convolution, NHWC activations and HWIO filters (Keras' layout), through cuDNN's graph API, or as a matrix product where it is
// one; where cuDNN's heuristics give no plan, a direct kernel of ours runs.
#pragma once

#include <memory>

#include "engine/ops/op_context.h"
#include "engine/ops/window_spec.h"

namespace lockstep::ops {

struct ConvolutionSpec : WindowSpec {
  std::int64_t in_channels = 0, out_channels = 0;
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
