// Random convolutions through ops::Convolution against their definition; with cuDNN and without it.
#pragma once

#include "engine/ops/convolution.h"
#include "tests/engine/kernels/support/convolution_reference.h"
#include "tests/engine/kernels/support/kernel_case.h"
#include "tests/engine/ops/support/op_fixture.h"

namespace lockstep::testing {

class ConvolutionTest : public OpTest {
 protected:
  static ops::ConvolutionSpec any_spec(Random& random) {
    ops::ConvolutionSpec s;
    s.batch = between(random, 1, 5);
    s.in_channels = between(random, 1, 12);
    s.out_channels = between(random, 1, 20);
    s.kernel_h = between(random, 1, 4);
    s.kernel_w = between(random, 1, 4);
    s.stride_h = between(random, 1, 3);
    s.stride_w = between(random, 1, 3);
    s.dilation_h = between(random, 1, 2);
    s.dilation_w = between(random, 1, 2);
    s.pad_top = between(random, 0, 2);
    s.pad_bottom = between(random, 0, 2);
    s.pad_left = between(random, 0, 2);
    s.pad_right = between(random, 0, 2);
    s.height = between(random, s.dilation_h * (s.kernel_h - 1) + 1, 16);
    s.width = between(random, s.dilation_w * (s.kernel_w - 1) + 1, 16);
    return s;
  }

  void check(const ops::ConvolutionSpec& spec, Random& random, bool with_dnn) {
    const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
    const kernels::ConvShape s{i(spec.batch),        i(spec.height),      i(spec.width),      i(spec.in_channels), i(spec.out_channels),
                               i(spec.out_height()), i(spec.out_width()), i(spec.kernel_h),   i(spec.kernel_w),    i(spec.stride_h),
                               i(spec.stride_w),     i(spec.dilation_h),  i(spec.dilation_w), i(spec.pad_top),     i(spec.pad_left)};
    const auto x = normal(random, static_cast<std::int64_t>(image_size(s)));
    const auto filter = normal(random, static_cast<std::int64_t>(filter_size(s)));
    const auto dy = normal(random, static_cast<std::int64_t>(output_size(s)));
    const Tensor image = tensor(Shape{spec.batch, spec.height, spec.width, spec.in_channels}, x);
    const Tensor weights = tensor(Shape{spec.kernel_h, spec.kernel_w, spec.in_channels, spec.out_channels}, filter);
    const Tensor gradient = tensor(Shape{spec.batch, spec.out_height(), spec.out_width(), spec.out_channels}, dy);
    const Tensor y = empty(gradient.shape());
    const Tensor dx = empty(image.shape());
    const Tensor dfilter = empty(weights.shape());
    const ops::Convolution convolution(gpu(), spec, true);
    EXPECT_EQ(convolution.uses_dnn(), with_dnn);
    const OpContext run = context(convolution.scratch_bytes());
    convolution.forward(run, image, weights, y);
    convolution.backward_data(run, gradient, weights, dx);
    convolution.backward_filter(run, image, gradient, dfilter);
    expect_close_to_scale(read(y), reference_forward(s, x, filter), 3e-6);
    expect_close_to_scale(read(dx), reference_backward_data(s, dy, filter), 3e-6);
    expect_close_to_scale(read(dfilter), reference_backward_filter(s, x, dy), 3e-6);
  }

  void check_many(int rounds, bool with_dnn) {
    Random random(7);
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      check(any_spec(random), random, with_dnn);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
};

}  // namespace lockstep::testing
