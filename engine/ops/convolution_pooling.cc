#include "engine/ops/convolution_pooling.h"

#include <algorithm>

#include <backend/tuning.h>
#include "engine/device/launch.h"
#include "engine/kernels/activation_kernels.h"
#include "engine/kernels/convolution_pooling_kernels.h"
#include "engine/kernels/sequence_convolution_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

constexpr std::int64_t kChannels = 8;  // of the kernels' vectors

kernels::ConvolutionPoolingShape shape_of(const ConvolutionSpec& s, const PoolingSpec& pooling) {
  const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  return {i(s.batch),    i(s.height),   i(s.width),          i(s.in_channels),        i(s.out_channels),
          i(s.kernel_h), i(s.kernel_w), i(pooling.kernel_h), i(pooling.out_height()), i(pooling.out_width())};
}

std::int64_t inputs(const ConvolutionSpec& s) { return s.pixels() * s.in_channels; }
// The convolution's output, with as many columns of zeros at both ends.
std::int64_t between(const ConvolutionSpec& s, std::int64_t margin) {
  return s.batch * s.out_height() * (s.out_width() + 2 * margin) * s.out_channels;
}
kernels::SequenceShape sequences_of(const ConvolutionSpec& s) {
  const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  return {i(s.batch), i(s.width), i(s.in_channels), i(s.out_channels), i(s.kernel_w)};
}
std::int64_t turned_size(const ConvolutionSpec& s) { return s.kernel_w * s.out_channels * sequences_of(s).padded_channels(); }
std::int64_t filter_size(const ConvolutionSpec& s) { return s.kernel_h * s.kernel_w * s.in_channels * s.out_channels; }
std::int64_t outputs(const PoolingSpec& p) { return p.out_pixels() * p.channels; }
std::size_t rounded(std::int64_t floats) { return (static_cast<std::size_t>(floats) * sizeof(float) + 255) / 256 * 256; }

View<std::uint8_t> bytes_of(const Tensor& saved, std::int64_t count) {
  return saved.defined() ? View<std::uint8_t>{static_cast<std::uint8_t*>(saved.raw()), count} : View<std::uint8_t>{};
}

}  // namespace

bool ConvolutionPooling::fits(const ConvolutionSpec& s, const PoolingSpec& p) {
  const bool plain = s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 && !s.padded();
  const bool side_by_side =
      p.kernel_w == 2 && p.stride_w == 2 && (p.kernel_h == 1 || p.kernel_h == 2) && p.stride_h == p.kernel_h && !p.padded();
  return plain && side_by_side && s.out_channels % kChannels == 0 && s.kernel_h * s.kernel_w * s.in_channels <= tuning::kMostTaps;
}

ConvolutionPooling::ConvolutionPooling(LogicalGpu& gpu, const ConvolutionSpec& convolution, const PoolingSpec& pooling, bool relu,
                                       bool needs_input_gradient)
    : spec_(convolution), pooling_(pooling), relu_(relu), needs_input_gradient_(needs_input_gradient) {
  if (needs_input_gradient && !of_sequences()) input_gradient_ = Convolution::input_gradient_only(gpu, convolution);
}

std::size_t ConvolutionPooling::scratch_bytes() const {
  const std::int64_t chunks = kernels::convolution_pooling_chunks(shape_of(spec_, pooling_));
  const std::size_t sums = rounded(chunks * filter_size(spec_)) + rounded(chunks * spec_.out_channels);
  return std::max(sums, needs_input_gradient_ ? input_gradient_bytes() : 0);
}

std::size_t ConvolutionPooling::input_gradient_bytes() const {
  if (of_sequences()) return rounded(between(spec_, spec_.kernel_w - 1)) + rounded(turned_size(spec_));
  return rounded(between(spec_, 0)) + input_gradient_->scratch_bytes();
}

std::size_t ConvolutionPooling::saved_bytes() const { return static_cast<std::size_t>(outputs(pooling_)); }

void ConvolutionPooling::forward(const OpContext& context, const Tensor& x, const Tensor& filter, const Tensor& bias, const Tensor& y,
                                 const Tensor& saved) const {
  expect_size("convolution_pooling", "the image", x, inputs(spec_));
  expect_size("convolution_pooling", "the filter", filter, filter_size(spec_));
  expect_size("convolution_pooling", "the output", y, outputs(pooling_));
  if (y.size() == 0) return;
  const kernels::ConvolutionPoolingShape shape = shape_of(spec_, pooling_);
  launch(*context.stream, "convolution_pooling", kernels::convolution_pooling_cost(shape), grid_for_elements(y.size() / kChannels / 4 + 1),
         kernels::convolution_pooling, shape, relu_, x.read(), filter.read(), bias.defined() ? bias.read() : View<const float>{}, y.view(),
         bytes_of(saved, y.size()));
}

void ConvolutionPooling::backward_filter(const OpContext& context, const Tensor& x, const Tensor& dy, const Tensor& saved,
                                         const Tensor& dfilter, const Tensor& dbias) const {
  expect_size("convolution_pooling_gradient", "the image", x, inputs(spec_));
  expect_size("convolution_pooling_gradient", "the output's gradient", dy, outputs(pooling_));
  expect_size("convolution_pooling_gradient", "the filter's gradient", dfilter, filter_size(spec_));
  expect_scratch("convolution_pooling_gradient", context, scratch_bytes());
  const kernels::ConvolutionPoolingShape shape = shape_of(spec_, pooling_);
  const std::int64_t chunks = kernels::convolution_pooling_chunks(shape);
  float* const scratch = context.scratch.f32();
  const View<float> filters{scratch, chunks * dfilter.size()};
  const View<float> biases{scratch + rounded(filters.count) / sizeof(float), chunks * spec_.out_channels};
  launch(*context.stream, "convolution_pooling_gradient", kernels::convolution_pooling_gradient_cost(shape),
         grid_for_elements(chunks * (spec_.kernel_h + 1) * spec_.out_channels / kChannels), kernels::convolution_pooling_gradient, shape,
         x.read(), dy.read(), bytes_of(saved, dy.size()), filters, biases);
  const auto join = [&](View<float> from, const Tensor& to) {
    launch(*context.stream, "add_chunks", kernels::add_chunks_cost(chunks, to.size()), grid_for_elements(to.size()), kernels::add_chunks,
           from, to.view(), chunks, to.size());
  };
  if (dbias.defined()) join(biases, dbias);
  join(filters, dfilter);
}

void ConvolutionPooling::backward_data(const OpContext& context, const Tensor& dy, const Tensor& saved, const Tensor& filter,
                                       const Tensor& dx) const {
  expect_size("unpool", "the output's gradient", dy, outputs(pooling_));
  expect_scratch("unpool", context, scratch_bytes());
  if (dx.size() == 0) return;
  const kernels::ConvolutionPoolingShape shape = shape_of(spec_, pooling_);
  const std::int64_t margin = of_sequences() ? spec_.kernel_w - 1 : 0;
  const Tensor unpooled(context.scratch.raw(), Shape{spec_.batch, spec_.out_height(), spec_.out_width() + 2 * margin, spec_.out_channels});
  launch(*context.stream, "unpool", kernels::unpool_cost(shape, static_cast<std::int32_t>(margin)),
         grid_for_rows(spec_.batch * spec_.out_height(), unpooled.shape()[2] * spec_.out_channels / kChannels), kernels::unpool, shape,
         static_cast<std::int32_t>(margin), dy.read(), bytes_of(saved, dy.size()), unpooled.view());
  const std::size_t used = rounded(unpooled.size());
  auto* const behind = static_cast<unsigned char*>(context.scratch.raw()) + used;
  if (of_sequences()) {
    const kernels::SequenceShape sequences = sequences_of(spec_);
    const View<float> turned{reinterpret_cast<float*>(behind), turned_size(spec_)};
    launch(*context.stream, "turn_filter", kernels::turn_filter_cost(sequences),
           grid_for_rows(spec_.kernel_w * spec_.out_channels / kChannels, 256), kernels::turn_filter, sequences, filter.read(), turned);
    launch(*context.stream, "sequence_input_gradient", kernels::sequence_input_gradient_cost(sequences),
           grid_for_elements(dx.size() / kChannels + 1), kernels::sequence_input_gradient, sequences, unpooled.read(), turned, dx.view());
    return;
  }
  OpContext rest = context;
  rest.scratch = Tensor(behind, Shape{static_cast<std::int64_t>((context.scratch.bytes() - used) / sizeof(float))});
  input_gradient_->backward_data(rest, unpooled, filter, dx);
}

}  // namespace lockstep::ops
