// Pooling, as launches of our own kernels.
#include "engine/ops/pooling.h"

#include "engine/device/launch.h"
#include "engine/kernels/pooling_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

kernels::PoolShape shape_of(const PoolingSpec& s) {
  const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  return {i(s.batch),    i(s.height),   i(s.width),    i(s.channels), i(s.out_height()), i(s.out_width()),
          i(s.kernel_h), i(s.kernel_w), i(s.stride_h), i(s.stride_w), i(s.pad_top),      i(s.pad_left)};
}

// Keras' default: windows of 2x2 side by side, no padding.
bool is_2x2(const PoolingSpec& s) { return s.kernel_h == 2 && s.kernel_w == 2 && s.stride_h == 2 && s.stride_w == 2 && !s.padded(); }

std::int64_t inputs(const PoolingSpec& s) { return s.pixels() * s.channels; }
std::int64_t outputs(const PoolingSpec& s) { return s.out_pixels() * s.channels; }

}  // namespace

void max_pooling(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y) {
  expect_size("max_pooling", "the input", x, inputs(spec));
  expect_size("max_pooling", "the output", y, outputs(spec));
  if (y.size() == 0) return;
  const kernels::PoolShape shape = shape_of(spec);
  const Grid grid = grid_for_rows(spec.out_pixels(), spec.channels);
  if (is_2x2(spec)) {
    launch(*context.stream, "max_pooling_2x2", kernels::max_pooling_2x2_cost(shape), grid, kernels::max_pooling_2x2, shape, x.read(),
           y.view());
  } else {
    launch(*context.stream, "max_pooling", kernels::max_pooling_cost(shape), grid, kernels::max_pooling, shape, x.read(), y.view());
  }
}

void max_pooling_gradient(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y, const Tensor& dy,
                          const Tensor& dx) {
  expect_size("max_pooling_gradient", "the input", x, inputs(spec));
  expect_size("max_pooling_gradient", "the output", y, outputs(spec));
  expect_size("max_pooling_gradient", "the output's gradient", dy, outputs(spec));
  expect_size("max_pooling_gradient", "the input's gradient", dx, inputs(spec));
  if (dx.size() == 0) return;
  const kernels::PoolShape shape = shape_of(spec);
  if (is_2x2(spec)) {
    const Grid grid = grid_for_rows(spec.batch * ((spec.height + 1) / 2) * ((spec.width + 1) / 2), spec.channels);
    launch(*context.stream, "max_pooling_gradient_2x2", kernels::max_pooling_gradient_2x2_cost(shape), grid,
           kernels::max_pooling_gradient_2x2, shape, x.read(), y.read(), dy.read(), dx.view());
  } else {
    const Grid grid = grid_for_rows(spec.pixels(), spec.channels);
    launch(*context.stream, "max_pooling_gradient", kernels::max_pooling_gradient_cost(shape), grid, kernels::max_pooling_gradient, shape,
           x.read(), y.read(), dy.read(), dx.view());
  }
}

void average_pooling(const OpContext& context, const PoolingSpec& spec, const Tensor& x, const Tensor& y) {
  expect_size("average_pooling", "the input", x, inputs(spec));
  expect_size("average_pooling", "the output", y, outputs(spec));
  if (y.size() == 0) return;
  const kernels::PoolShape shape = shape_of(spec);
  launch(*context.stream, "average_pooling", kernels::average_pooling_cost(shape), grid_for_rows(spec.out_pixels(), spec.channels),
         kernels::average_pooling, shape, x.read(), y.view());
}

void average_pooling_gradient(const OpContext& context, const PoolingSpec& spec, const Tensor& dy, const Tensor& dx) {
  expect_size("average_pooling_gradient", "the output's gradient", dy, outputs(spec));
  expect_size("average_pooling_gradient", "the input's gradient", dx, inputs(spec));
  if (dx.size() == 0) return;
  const kernels::PoolShape shape = shape_of(spec);
  launch(*context.stream, "average_pooling_gradient", kernels::average_pooling_gradient_cost(shape),
         grid_for_rows(spec.pixels(), spec.channels), kernels::average_pooling_gradient, shape, dy.read(), dx.view());
}

}  // namespace lockstep::ops
