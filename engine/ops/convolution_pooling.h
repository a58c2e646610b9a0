// Convolution, bias, ReLU and max pooling as one operation: engine/kernels/convolution_pooling_kernels.h says what that saves.
#pragma once

#include <optional>

#include "engine/ops/convolution.h"
#include "engine/ops/pooling.h"

namespace lockstep::ops {

class ConvolutionPooling {
 public:
  // Can these two be one? Where the filter is large, a convolution through cuDNN and a pooling behind it are faster.
  static bool fits(const ConvolutionSpec& convolution, const PoolingSpec& pooling);

  ConvolutionPooling(LogicalGpu& gpu, const ConvolutionSpec& convolution, const PoolingSpec& pooling, bool relu, bool needs_input_gradient);

  std::size_t scratch_bytes() const;
  std::size_t saved_bytes() const;  // a byte for each output

  // bias may be undefined; so may saved, where no backward follows.
  void forward(const OpContext& context, const Tensor& x, const Tensor& filter, const Tensor& bias, const Tensor& y,
               const Tensor& saved) const;
  // dbias may be undefined.
  void backward_filter(const OpContext& context, const Tensor& x, const Tensor& dy, const Tensor& saved, const Tensor& dfilter,
                       const Tensor& dbias) const;
  void backward_data(const OpContext& context, const Tensor& dy, const Tensor& saved, const Tensor& filter, const Tensor& dx) const;

 private:
  bool of_sequences() const { return spec_.kernel_h == 1 && spec_.height == 1; }  // their input gradient has kernels of its own
  std::size_t input_gradient_bytes() const;

  ConvolutionSpec spec_;
  PoolingSpec pooling_;
  bool relu_;
  bool needs_input_gradient_;
  std::optional<Convolution> input_gradient_;
};

}  // namespace lockstep::ops
