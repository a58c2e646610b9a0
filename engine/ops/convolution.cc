// Dense convolutions: a matrix product where they are one, else a cuDNN plan where there is one, else our direct kernels.
//
// cuDNN's channels-last engines want filters as KRSC; Keras has HWIO, which as a matrix (H W I) x O is just KRSC transposed. So the
// filter is transposed into scratch before forward and backward data, and out of it after backward filter: a few KB beside the images.
// A 1 x 1 filter is a matrix I x O, and an NHWC image is one of pixels x I: their product needs no other layout. Large filters, which
// would cost most to transpose, go that way.
#include "engine/ops/convolution.h"

#include <algorithm>

#include <backend/tuning.h>

#include "engine/device/launch.h"
#include "engine/kernels/convolution_kernels.h"
#include "engine/kernels/elementwise_kernels.h"
#include "engine/kernels/sum_order.h"
#include "engine/ops/dnn_graph.h"
#include "engine/ops/matmul.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

using Extents = std::vector<std::int64_t>;

// Strides of (N, C, H, W) for a channels-last tensor; the same formula lays out (K, C, R, S) as KRSC.
Extents channels_last(const Extents& e) { return {e[1] * e[2] * e[3], 1, e[3] * e[1], e[1]}; }

DnnDescriptor convolution_descriptor(const ConvolutionSpec& s) {
  DnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2})
      .set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, Extents{s.dilation_h, s.dilation_w})
      .set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, Extents{s.stride_h, s.stride_w})
      .set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, Extents{s.pad_top, s.pad_left})
      .set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, Extents{s.pad_bottom, s.pad_right})
      .finalize();
  return convolution;
}

// The attributes that one of the three operations has under its own names.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t image, filter, output, convolution, alpha, beta;
};
constexpr OperationNames kForward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr OperationNames kBackwardData = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
constexpr OperationNames kBackwardFilter = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};

// uids: 1 the image or its gradient, 2 the filter or its gradient, 3 the output or its gradient.
std::optional<DnnPlan> make_plan(cudnnHandle_t handle, const ConvolutionSpec& s, const OperationNames& names) {
  const Extents image{s.batch, s.in_channels, s.height, s.width};
  const Extents filter{s.out_channels, s.in_channels, s.kernel_h, s.kernel_w};
  const Extents output{s.batch, s.out_channels, s.out_height(), s.out_width()};
  DnnDescriptor operation(names.type);
  operation.set(names.image, dnn_tensor(1, image, channels_last(image)))
      .set(names.filter, dnn_tensor(2, filter, channels_last(filter)))
      .set(names.output, dnn_tensor(3, output, channels_last(output)))
      .set(names.convolution, convolution_descriptor(s))
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(names.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .finalize();
  return DnnPlan::make(handle, operation);
}

bool is_product(const ConvolutionSpec& s) {
  return s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && !s.padded();
}

Matmul::Spec product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Matmul::Spec spec;
  spec.m = m, spec.n = n, spec.k = k;
  return spec;
}

std::int64_t channel_tiles(const ConvolutionSpec& s) {
  return (s.out_channels + sum_order::kConvolutionLanes - 1) / sum_order::kConvolutionLanes;
}

void check_spec(const ConvolutionSpec& s) {
  if (s.kernel_h < 1 || s.kernel_w < 1 || s.stride_h < 1 || s.stride_w < 1 || s.dilation_h < 1 || s.dilation_w < 1) {
    throw Error("Convolution: kernel, stride and dilation are at least 1.");
  }
  if (s.height + s.pad_top + s.pad_bottom < s.dilation_h * (s.kernel_h - 1) + 1 ||
      s.width + s.pad_left + s.pad_right < s.dilation_w * (s.kernel_w - 1) + 1) {
    throw Error("Convolution: a kernel of " + std::to_string(s.kernel_h) + " x " + std::to_string(s.kernel_w) +
                " is larger than the padded image of " + std::to_string(s.height + s.pad_top + s.pad_bottom) + " x " +
                std::to_string(s.width + s.pad_left + s.pad_right) + ".");
  }
}

}  // namespace

struct Convolution::Plans {
  // How one of the three operations is computed; where neither is there, by a kernel of ours.
  struct Way {
    std::optional<DnnPlan> plan;
    std::optional<Matmul> product;
  };

  ConvolutionSpec spec;
  kernels::ConvShape shape{};
  cudnnHandle_t handle = nullptr;
  Way forward, backward_data, backward_filter;

  std::int64_t taps() const { return spec.kernel_h * spec.kernel_w * spec.in_channels; }
  std::int64_t filter_size() const { return taps() * spec.out_channels; }
  // Scratch: the transposed filter, then the plan's workspace.
  std::size_t filter_bytes() const { return (static_cast<std::size_t>(filter_size()) * sizeof(float) + 255) / 256 * 256; }
  std::size_t scratch_for(const Way& way) const {
    return way.product ? way.product->scratch_bytes() : way.plan ? filter_bytes() + way.plan->workspace_bytes() : 0;
  }

  void expect_sizes(const Tensor& image, const Tensor& filter, const Tensor& output) const {
    expect_size("Convolution", "the image or its gradient", image, spec.pixels() * spec.in_channels);
    expect_size("Convolution", "the filter or its gradient", filter, filter_size());
    expect_size("Convolution", "the output or its gradient", output, spec.out_pixels() * spec.out_channels);
  }
  void run(Way& way, const OpContext& context, const Tensor& image, const Tensor& output) const {
    const DeviceGuard guard(context.stream->device());
    LOCKSTEP_CHECK(cudnnSetStream(handle, context.stream->get()));
    auto* scratch = static_cast<unsigned char*>(context.scratch.raw());
    way.plan->run(handle, {image.raw(), scratch, output.raw()}, way.plan->workspace_bytes() > 0 ? scratch + filter_bytes() : nullptr);
  }
  // Forward, or backward data: what reads the filter. `from` and `to` are the image and the output, or the other way round. False where a
  // kernel of ours is left to run.
  bool run_with_filter(Way& way, const OpContext& context, const Tensor& from, const Tensor& filter, const Tensor& to) const {
    if (way.product) way.product->run(context, from, filter, Tensor(), to);
    if (way.product || !way.plan) return way.product.has_value();
    expect_scratch("Convolution", context, scratch_for(way));
    transpose(context, filter.read(), scratch_filter(context), taps(), spec.out_channels);
    run(way, context, &way == &forward ? from : to, &way == &forward ? to : from);
    return true;
  }
  void transpose(const OpContext& context, View<const float> from, View<float> to, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t tiles = ((rows + 31) / 32) * ((columns + 31) / 32);
    launch(*context.stream, "transpose", kernels::transpose_cost(rows, columns), grid_for_rows(tiles, 256), kernels::transpose, from, to,
           rows, columns);
  }
  View<float> scratch_filter(const OpContext& context) const { return {context.scratch.f32(), filter_size()}; }
};

Convolution::Convolution(const ConvolutionSpec& s) : plans_(std::make_unique<Plans>()) {
  check_spec(s);
  const auto i = [](std::int64_t extent) { return static_cast<std::int32_t>(extent); };
  plans_->spec = s;
  plans_->shape = {i(s.batch),        i(s.height),      i(s.width),      i(s.in_channels), i(s.out_channels),
                   i(s.out_height()), i(s.out_width()), i(s.kernel_h),   i(s.kernel_w),    i(s.stride_h),
                   i(s.stride_w),     i(s.dilation_h),  i(s.dilation_w), i(s.pad_top),     i(s.pad_left)};
}

Convolution Convolution::input_gradient_only(LogicalGpu& gpu, const ConvolutionSpec& spec) {
  Convolution convolution(spec);
  if (spec.batch == 0) return convolution;
  const DeviceGuard guard(gpu.physical());
  convolution.plans_->handle = gpu.dnn();
  convolution.plans_->backward_data.plan = make_plan(convolution.plans_->handle, spec, kBackwardData);
  return convolution;
}

Convolution::Convolution(LogicalGpu& gpu, const ConvolutionSpec& s, bool needs_input_gradient) : Convolution(s) {
  if (s.batch == 0) return;
  const DeviceGuard guard(gpu.physical());
  plans_->handle = gpu.dnn();
  const std::int64_t filter = s.in_channels * s.out_channels;
  if (is_product(s) && filter >= tuning::kLargeFilter) {
    plans_->forward.product.emplace(gpu, product(s.pixels(), s.out_channels, s.in_channels));
    Matmul::Spec data = product(s.pixels(), s.in_channels, s.out_channels);
    data.transpose_b = true;
    if (needs_input_gradient) plans_->backward_data.product.emplace(gpu, data);
  } else {
    plans_->forward.plan = make_plan(plans_->handle, s, kForward);
    if (needs_input_gradient) plans_->backward_data.plan = make_plan(plans_->handle, s, kBackwardData);
  }
  if (is_product(s) && filter >= tuning::kLargeFilterGradient) {
    Matmul::Spec gradient = product(s.in_channels, s.out_channels, s.pixels());
    gradient.transpose_a = true;
    plans_->backward_filter.product.emplace(gpu, gradient);
  } else {
    plans_->backward_filter.plan = make_plan(plans_->handle, s, kBackwardFilter);
  }
}

Convolution::~Convolution() = default;
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;

std::size_t Convolution::scratch_bytes() const {
  const Plans& p = *plans_;
  return std::max({p.scratch_for(p.forward), p.scratch_for(p.backward_data), p.scratch_for(p.backward_filter)});
}

bool Convolution::uses_dnn() const { return plans_->forward.plan.has_value(); }

void Convolution::forward(const OpContext& context, const Tensor& x, const Tensor& filter, const Tensor& y) const {
  Plans& p = *plans_;
  p.expect_sizes(x, filter, y);
  if (y.size() == 0 || p.run_with_filter(p.forward, context, x, filter, y)) return;
  launch(*context.stream, "convolution_forward", kernels::convolution_forward_cost(p.shape),
         grid_for_rows(p.spec.out_pixels(), channel_tiles(p.spec)), kernels::convolution_forward, p.shape, x.read(), filter.read(),
         y.view());
}

void Convolution::backward_data(const OpContext& context, const Tensor& dy, const Tensor& filter, const Tensor& dx) const {
  Plans& p = *plans_;
  p.expect_sizes(dx, filter, dy);
  if (dx.size() == 0 || p.run_with_filter(p.backward_data, context, dy, filter, dx)) return;
  launch(*context.stream, "convolution_backward_data", kernels::convolution_backward_data_cost(p.shape),
         grid_for_rows(p.spec.pixels(), p.spec.in_channels), kernels::convolution_backward_data, p.shape, dy.read(), filter.read(),
         dx.view());
}

void Convolution::backward_filter(const OpContext& context, const Tensor& x, const Tensor& dy, const Tensor& dfilter) const {
  Plans& p = *plans_;
  p.expect_sizes(x, dfilter, dy);
  if (p.backward_filter.product) return p.backward_filter.product->run(context, x, dy, Tensor(), dfilter);
  if (p.backward_filter.plan) {
    expect_scratch("Convolution", context, p.scratch_for(p.backward_filter));
    p.run(p.backward_filter, context, x, dy);
    p.transpose(context, p.scratch_filter(context), dfilter.view(), p.spec.out_channels, p.taps());
    return;
  }
  // Without samples the sum is empty, and the kernel writes zeros.
  launch(*context.stream, "convolution_backward_filter", kernels::convolution_backward_filter_cost(p.shape),
         grid_for_rows(p.taps(), channel_tiles(p.spec)), kernels::convolution_backward_filter, p.shape, x.read(), dy.read(),
         dfilter.view());
}

}  // namespace lockstep::ops
