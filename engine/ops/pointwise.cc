// One element at a time, as launches of our own kernels.
#include "engine/ops/pointwise.h"

#include "engine/device/launch.h"
#include "engine/kernels/pointwise_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void sum_of_two(const OpContext& context, const Tensor& x, const Tensor& y, const Tensor& z) {
  expect_size("sum_of_two", "the second", y, x.size());
  expect_size("sum_of_two", "the sum", z, x.size());
  if (x.size() == 0) return;
  launch(*context.stream, "sum_of_two", kernels::sum_of_two_cost(x.size()), grid_for_elements(x.size()), kernels::sum_of_two, x.read(),
         y.read(), z.view());
}

void clip(const OpContext& context, const Tensor& x, const Tensor& y, float low, float high) {
  expect_size("clip", "the output", y, x.size());
  if (x.size() == 0) return;
  launch(*context.stream, "clip", kernels::clip_cost(x.size()), grid_for_elements(x.size()), kernels::clip, x.read(), y.view(), low, high);
}

void clip_gradient(const OpContext& context, const Tensor& y, const Tensor& dy, float low, float high) {
  expect_size("clip_gradient", "the output", y, dy.size());
  if (dy.size() == 0) return;
  launch(*context.stream, "clip_gradient", kernels::clip_gradient_cost(dy.size()), grid_for_elements(dy.size()), kernels::clip_gradient,
         y.read(), dy.view(), low, high);
}

void scale_and_shift(const OpContext& context, const Tensor& x, const Tensor& y, float factor, float offset) {
  expect_size("scale_and_shift", "the output", y, x.size());
  if (x.size() == 0) return;
  launch(*context.stream, "scale_and_shift", kernels::scale_and_shift_cost(x.size()), grid_for_elements(x.size()), kernels::scale_and_shift,
         x.read(), y.view(), factor, offset);
}

void dropout(const OpContext& context, const kernels::RandomKey& key, float rate, const Tensor& x, const Tensor& y) {
  expect_size("dropout", "the output", y, x.size());
  if (x.size() == 0) return;
  const std::int64_t elements = x.size() / x.shape()[0];
  launch(*context.stream, "dropout", kernels::dropout_cost(x.size()), grid_for_elements(x.size() / 4 + 1), kernels::dropout, key, x.read(),
         y.view(), elements, rate);
}

}  // namespace lockstep::ops
