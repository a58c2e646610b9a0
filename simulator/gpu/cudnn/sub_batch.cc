#include "simulator/gpu/cudnn/sub_batch.h"

#include <array>
#include <unordered_map>

namespace lockstep::sim::dnn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// A oneDNN stream of this thread; on the CPU it only carries the engine.
dnnl::stream& this_thread() {
  thread_local dnnl::stream stream(cpu());
  return stream;
}

memory::desc image_desc(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return {{n, c, h, w}, memory::data_type::f32, Tag::nhwc};
}

// The filter as the caller stores it; with groups, oneDNN takes the group as a separate dimension.
memory::desc stored_filter_desc(const ConvolutionShape& shape) {
  const auto& [sk, sc, sr, ss] = shape.filter_strides;
  const std::int64_t c = shape.c / shape.groups;
  if (shape.groups == 1) return {{shape.k, c, shape.r, shape.s}, memory::data_type::f32, memory::dims{sk, sc, sr, ss}};
  const std::int64_t k = shape.k / shape.groups;
  return {{shape.groups, k, c, shape.r, shape.s}, memory::data_type::f32, memory::dims{k * sk, sk, sc, sr, ss}};
}

// The filter as the primitive would like it. With fewer channels than a vector has lanes, or on images one pixel high, the direct kernels
// that compute the images' gradient waste much of what they do, and the GEMM that oneDNN uses for a plain HWIO filter is faster.
memory::desc wished_filter_desc(const ConvolutionShape& shape) {
  constexpr std::int64_t kLanes = 8;
  const std::int64_t c = shape.c / shape.groups, k = shape.k / shape.groups;
  if (shape.groups > 1) return {{shape.groups, k, c, shape.r, shape.s}, memory::data_type::f32, Tag::any};
  const bool plain = (c < kLanes || shape.h == 1) && shape.direction == Direction::backward_data;
  return {{k, c, shape.r, shape.s}, memory::data_type::f32, plain ? Tag::hwio : Tag::any};
}

// A 1 x 1 filter, packed as KRSC, makes the images rows of a matrix.
bool is_product(const ConvolutionShape& s) {
  const bool one_by_one = s.r == 1 && s.s == 1 && s.groups == 1 && s.strides == std::array<std::int64_t, 2>{1, 1};
  const bool padded = s.pre[0] + s.pre[1] + s.post[0] + s.post[1] > 0;
  return one_by_one && !padded && s.filter_strides[0] == s.c && s.filter_strides[1] == 1;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace

SubBatch::SubBatch(const ConvolutionShape& shape, std::int64_t images) : direction_(shape.direction), images_(images) {
  // y = x w^T, dx = dy w, dw = dy^T x; the product's depth is c in the first, and k in the others.
  const bool forward_pass = shape.direction == Direction::forward;
  const std::int64_t depth = forward_pass ? shape.c : shape.k, n = forward_pass ? shape.k : shape.c;
  narrow_ = is_product(shape) && NarrowProduct::fits(depth, n);
  if (narrow_) {
    product_ = NarrowProduct(depth, n);
    pixels_ = images * shape.h * shape.w;
    channels_ = shape.c;
    return;
  }
  x_ = image_desc(images, shape.c, shape.h, shape.w);
  y_ = image_desc(images, shape.k, shape.out_h, shape.out_w);
  stored_ = stored_filter_desc(shape);
  const memory::desc wished = wished_filter_desc(shape);
  const memory::dims strides{shape.strides[0], shape.strides[1]}, dilations{shape.dilations[0] - 1, shape.dilations[1] - 1};
  const memory::dims pre{shape.pre[0], shape.pre[1]}, post{shape.post[0], shape.post[1]};
  const dnnl::primitive_attr attributes = own_scratchpad();
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x_, wished, y_, strides, dilations, pre, post}, attributes,
      cpu());
  switch (shape.direction) {
    case Direction::forward:
      compute_ = dnnl::convolution_forward(forward);
      filter_ = forward.weights_desc();
      scratchpad_ = forward.scratchpad_desc();
      break;
    case Direction::backward_data: {
      const dnnl::convolution_backward_data::primitive_desc backward(
          {dnnl::algorithm::convolution_direct, x_, wished, y_, strides, dilations, pre, post}, attributes, cpu(), forward);
      compute_ = dnnl::convolution_backward_data(backward);
      filter_ = backward.weights_desc();
      scratchpad_ = backward.scratchpad_desc();
      break;
    }
    case Direction::backward_filter: {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          {dnnl::algorithm::convolution_direct, x_, wished, y_, strides, dilations, pre, post}, attributes, cpu(), forward);
      compute_ = dnnl::convolution_backward_weights(backward);
      filter_ = backward.diff_weights_desc();
      scratchpad_ = backward.scratchpad_desc();
      break;
    }
  }
  reordered_ = filter_ != stored_;
  if (reordered_) {
    const bool out = shape.direction == Direction::backward_filter;
    reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), out ? filter_ : stored_, cpu(), out ? stored_ : filter_));
  }
}

void SubBatch::multiply(float* x, float* w, float* y, float* packed) const {
  switch (direction_) {
    case Direction::forward:
      product_.pack(w, 1, channels_, packed);
      return product_.run(x, pixels_, packed, y);
    case Direction::backward_data:
      product_.pack(w, channels_, 1, packed);
      return product_.run(y, pixels_, packed, x);
    case Direction::backward_filter:
      return product_.gradient(y, x, pixels_, w);
  }
}

void SubBatch::run(float* x, float* w, float* y, std::byte* filter_slice, std::byte* scratchpad) const {
  if (narrow_) return multiply(x, w, y, reinterpret_cast<float*>(filter_slice));
  dnnl::stream& stream = this_thread();
  const memory images(x_, cpu(), x), outputs(y_, cpu(), y), stored(stored_, cpu(), w);
  const memory filter(filter_, cpu(), reordered_ ? static_cast<void*>(filter_slice) : w);
  const auto reorder = [&](const memory& from, const memory& to) {
    if (reordered_) reorder_.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  };
  std::unordered_map<int, memory> arguments;
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad_, cpu(), scratchpad_bytes() != 0 ? scratchpad : nullptr));
  switch (direction_) {
    case Direction::forward:
      reorder(stored, filter);
      arguments.emplace(DNNL_ARG_SRC, images);
      arguments.emplace(DNNL_ARG_WEIGHTS, filter);
      arguments.emplace(DNNL_ARG_DST, outputs);
      break;
    case Direction::backward_data:
      reorder(stored, filter);
      arguments.emplace(DNNL_ARG_DIFF_DST, outputs);
      arguments.emplace(DNNL_ARG_WEIGHTS, filter);
      arguments.emplace(DNNL_ARG_DIFF_SRC, images);
      break;
    case Direction::backward_filter:
      arguments.emplace(DNNL_ARG_SRC, images);
      arguments.emplace(DNNL_ARG_DIFF_DST, outputs);
      arguments.emplace(DNNL_ARG_DIFF_WEIGHTS, filter);
      break;
  }
  compute_.execute(stream, arguments);
  if (direction_ == Direction::backward_filter) reorder(filter, stored);
}

}  // namespace lockstep::sim::dnn

#if defined(__SANITIZE_THREAD__)
// oneDNN is not compiled with ThreadSanitizer, which so does not see what guards the making of its static objects (its primitive cache's
// lock).
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\nrace:libdnnl.so\n"; }
#endif
