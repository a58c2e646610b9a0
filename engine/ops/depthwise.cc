// Depthwise convolution, as launches of our own kernels.
#include "engine/ops/depthwise.h"

#include "engine/device/launch.h"
#include "engine/kernels/activation_kernels.h"
#include "engine/kernels/depthwise_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

kernels::DepthwiseShape shape_of(const DepthwiseSpec& s) {
  const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  return {i(s.batch),    i(s.height),   i(s.width),    i(s.channels),   i(s.multiplier), i(s.out_height()), i(s.out_width()), i(s.kernel_h),
          i(s.kernel_w), i(s.stride_h), i(s.stride_w), i(s.dilation_h), i(s.dilation_w), i(s.pad_top),      i(s.pad_left)};
}

std::int64_t inputs(const DepthwiseSpec& s) { return s.pixels() * s.channels; }
std::int64_t outputs(const DepthwiseSpec& s) { return s.out_pixels() * s.channels * s.multiplier; }
std::int64_t taps(const DepthwiseSpec& s) { return s.kernel_h * s.kernel_w * s.channels * s.multiplier; }

// On a GPU a thread has four channels.
Grid grid_for_pixels(std::int64_t pixels, std::int64_t channels) { return grid_for_rows(pixels, (channels + 3) / 4); }

}  // namespace

void depthwise_forward(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& filter, const Tensor& y) {
  expect_size("depthwise_forward", "the input", x, inputs(spec));
  expect_size("depthwise_forward", "the filter", filter, taps(spec));
  expect_size("depthwise_forward", "the output", y, outputs(spec));
  if (y.size() == 0) return;
  const kernels::DepthwiseShape shape = shape_of(spec);
  launch(*context.stream, "depthwise_forward", kernels::depthwise_forward_cost(shape),
         grid_for_pixels(spec.out_pixels(), spec.channels * spec.multiplier), kernels::depthwise_forward, shape, x.read(), filter.read(),
         y.view());
}

void depthwise_backward_data(const OpContext& context, const DepthwiseSpec& spec, const Tensor& dy, const Tensor& filter,
                             const Tensor& dx) {
  expect_size("depthwise_backward_data", "the output's gradient", dy, outputs(spec));
  expect_size("depthwise_backward_data", "the filter", filter, taps(spec));
  expect_size("depthwise_backward_data", "the input's gradient", dx, inputs(spec));
  if (dx.size() == 0) return;
  const kernels::DepthwiseShape shape = shape_of(spec);
  launch(*context.stream, "depthwise_backward_data", kernels::depthwise_backward_data_cost(shape),
         grid_for_pixels(spec.pixels(), spec.channels), kernels::depthwise_backward_data, shape, dy.read(), filter.read(), dx.view());
}

std::size_t depthwise_scratch(const DepthwiseSpec& spec) {
  return static_cast<std::size_t>(kernels::depthwise_chunks(shape_of(spec)) * taps(spec)) * sizeof(float);
}

void depthwise_backward_filter(const OpContext& context, const DepthwiseSpec& spec, const Tensor& x, const Tensor& dy,
                               const Tensor& dfilter) {
  expect_size("depthwise_backward_filter", "the input", x, inputs(spec));
  expect_size("depthwise_backward_filter", "the output's gradient", dy, outputs(spec));
  expect_size("depthwise_backward_filter", "the filter's gradient", dfilter, taps(spec));
  expect_scratch("depthwise_backward_filter", context, depthwise_scratch(spec));
  const kernels::DepthwiseShape shape = shape_of(spec);
  const std::int64_t chunks = kernels::depthwise_chunks(shape);
  const View<float> partial{context.scratch.f32(), chunks * taps(spec)};
  launch(*context.stream, "depthwise_backward_filter", kernels::depthwise_backward_filter_cost(shape),
         grid_for_pixels(chunks, spec.channels * spec.multiplier), kernels::depthwise_backward_filter, shape, x.read(), dy.read(), partial);
  launch(*context.stream, "add_chunks", kernels::add_chunks_cost(chunks, taps(spec)), grid_for_elements(taps(spec)), kernels::add_chunks,
         partial, dfilter.view(), chunks, taps(spec));
}

}  // namespace lockstep::ops
