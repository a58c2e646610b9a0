// Images moved or averaged, as launches of our own kernels.
#include "engine/ops/image.h"

#include "engine/device/launch.h"
#include "engine/kernels/image_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

std::int32_t narrow(std::int64_t extent) { return static_cast<std::int32_t>(extent); }

kernels::PaddingShape shape_of(const PaddingSpec& s) {
  return {narrow(s.batch), narrow(s.height), narrow(s.width), narrow(s.channels),
          narrow(s.top),   narrow(s.bottom), narrow(s.left),  narrow(s.right)};
}
std::int64_t small(const PaddingSpec& s) { return s.batch * s.height * s.width * s.channels; }
std::int64_t large(const PaddingSpec& s) { return s.batch * (s.height + s.top + s.bottom) * (s.width + s.left + s.right) * s.channels; }

struct PooledImage {
  std::int64_t batch, pixels, channels;
};
PooledImage pooled(const Tensor& images, const Tensor& means) {
  const std::int64_t channels = images.shape()[-1];
  const std::int64_t batch = images.shape()[0];
  expect_size("global_average_pooling", "the means", means, batch * channels);
  return {batch, images.size() / (batch * channels), channels};
}

}  // namespace

void zero_padding(const OpContext& context, const PaddingSpec& spec, const Tensor& x, const Tensor& y) {
  expect_size("zero_padding", "the input", x, small(spec));
  expect_size("zero_padding", "the output", y, large(spec));
  if (y.size() == 0) return;
  const kernels::PaddingShape shape = shape_of(spec);
  launch(*context.stream, "zero_padding", kernels::zero_padding_cost(shape), grid_for_rows(large(spec) / spec.channels, spec.channels),
         kernels::zero_padding, shape, x.read(), y.view());
}

void zero_padding_gradient(const OpContext& context, const PaddingSpec& spec, const Tensor& dy, const Tensor& dx) {
  expect_size("zero_padding_gradient", "the output's gradient", dy, large(spec));
  expect_size("zero_padding_gradient", "the input's gradient", dx, small(spec));
  if (dx.size() == 0) return;
  const kernels::PaddingShape shape = shape_of(spec);
  launch(*context.stream, "zero_padding_gradient", kernels::zero_padding_gradient_cost(shape),
         grid_for_rows(small(spec) / spec.channels, spec.channels), kernels::zero_padding_gradient, shape, dy.read(), dx.view());
}

void global_average_pooling(const OpContext& context, const Tensor& x, const Tensor& y) {
  if (x.size() == 0) return;
  const auto [batch, pixels, channels] = pooled(x, y);
  launch(*context.stream, "global_average_pooling", kernels::global_average_pooling_cost(batch, pixels, channels),
         grid_for_rows(batch, channels), kernels::global_average_pooling, x.read(), y.view(), batch, pixels, channels);
}

void global_average_pooling_gradient(const OpContext& context, const Tensor& dy, const Tensor& dx) {
  if (dx.size() == 0) return;
  const auto [batch, pixels, channels] = pooled(dx, dy);
  launch(*context.stream, "global_average_pooling_gradient", kernels::global_average_pooling_gradient_cost(batch, pixels, channels),
         grid_for_rows(batch * pixels, channels), kernels::global_average_pooling_gradient, dy.read(), dx.view(), batch, pixels, channels);
}

void random_flip(const OpContext& context, const kernels::RandomKey& key, bool horizontal, bool vertical, const Tensor& x,
                 const Tensor& y) {
  expect_size("random_flip", "the output", y, x.size());
  if (x.size() == 0) return;
  const Shape& s = x.shape();
  launch(*context.stream, "random_flip", kernels::random_flip_cost(x.size()), grid_for_rows(s[0] * s[1], s[2] * s[3]), kernels::random_flip,
         key, x.read(), y.view(), narrow(s[1]), narrow(s[2]), narrow(s[3]), horizontal, vertical);
}

}  // namespace lockstep::ops
