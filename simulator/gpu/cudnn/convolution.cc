#include "convolution.h"

#include <algorithm>
#include <dnnl.hpp>
#include <string>
#include <unordered_map>
#include <utility>

#include "single_threaded.h"

namespace lockstep::sim::dnn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr std::size_t kSliceAlignment = 256;

std::size_t align(std::size_t bytes) { return (bytes + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment; }

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

// The filter as the caller stores it; with groups oneDNN wants the group as a dimension of its own.
memory::desc stored_filter_desc(const ConvolutionShape& shape) {
  const auto& [sk, sc, sr, ss] = shape.filter_strides;
  const std::int64_t c = shape.c / shape.groups;
  if (shape.groups == 1) return {{shape.k, c, shape.r, shape.s}, memory::data_type::f32, memory::dims{sk, sc, sr, ss}};
  const std::int64_t k = shape.k / shape.groups;
  return {{shape.groups, k, c, shape.r, shape.s}, memory::data_type::f32, memory::dims{k * sk, sk, sc, sr, ss}};
}

// The filter as the primitive would like it. With fewer channels than a vector has lanes its direct backward kernels waste
// most of each vector, and the GEMM it uses for a plain HWIO filter is about twice as fast (measured, 3 channels, 224 x 224).
memory::desc wished_filter_desc(const ConvolutionShape& shape) {
  constexpr std::int64_t kLanes = 8;
  const std::int64_t c = shape.c / shape.groups, k = shape.k / shape.groups;
  if (shape.groups > 1) return {{shape.groups, k, c, shape.r, shape.s}, memory::data_type::f32, Tag::any};
  const bool plain =
      c < kLanes && (shape.direction == Direction::backward_data || (shape.direction == Direction::backward_filter && c > 1));
  return {{k, c, shape.r, shape.s}, memory::data_type::f32, plain ? Tag::hwio : Tag::any};
}

struct Geometry {
  memory::dims strides, dilations, pre, post;
};

Geometry geometry_of(const ConvolutionShape& shape) {
  return {{shape.strides[0], shape.strides[1]},
          {shape.dilations[0] - 1, shape.dilations[1] - 1},
          {shape.pre[0], shape.pre[1]},
          {shape.post[0], shape.post[1]}};
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// One primitive for a sub-batch of a certain size, with the reorder between the stored filter and its own.
struct SubBatch {
  dnnl::primitive compute;
  memory::desc images, outputs, filter, scratchpad;
  dnnl::primitive reorder;  // stored -> wished, or wished -> stored for the filter's gradient
  bool reordered = false;
};

SubBatch make_sub_batch(const ConvolutionShape& shape, std::int64_t n) {
  SubBatch result;
  result.images = image_desc(n, shape.c, shape.h, shape.w);
  result.outputs = image_desc(n, shape.k, shape.out_h, shape.out_w);
  const memory::desc wished = wished_filter_desc(shape);
  const Geometry g = geometry_of(shape);
  const dnnl::primitive_attr attributes = own_scratchpad();
  const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
                                                           result.images, wished, result.outputs, g.strides, g.dilations, g.pre, g.post},
                                                          attributes, cpu());
  switch (shape.direction) {
    case Direction::forward:
      result.compute = dnnl::convolution_forward(forward);
      result.filter = forward.weights_desc();
      result.scratchpad = forward.scratchpad_desc();
      break;
    case Direction::backward_data: {
      const dnnl::convolution_backward_data::primitive_desc backward(
          {dnnl::algorithm::convolution_direct, result.images, wished, result.outputs, g.strides, g.dilations, g.pre, g.post}, attributes,
          cpu(), forward);
      result.compute = dnnl::convolution_backward_data(backward);
      result.filter = backward.weights_desc();
      result.scratchpad = backward.scratchpad_desc();
      break;
    }
    case Direction::backward_filter: {
      const dnnl::convolution_backward_weights::primitive_desc backward(
          {dnnl::algorithm::convolution_direct, result.images, wished, result.outputs, g.strides, g.dilations, g.pre, g.post}, attributes,
          cpu(), forward);
      result.compute = dnnl::convolution_backward_weights(backward);
      result.filter = backward.diff_weights_desc();
      result.scratchpad = backward.scratchpad_desc();
      break;
    }
  }
  const memory::desc stored = stored_filter_desc(shape);
  result.reordered = result.filter != stored;
  if (result.reordered) {
    const bool out = shape.direction == Direction::backward_filter;
    result.reorder = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), out ? result.filter : stored, cpu(), out ? stored : result.filter));
  }
  return result;
}

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return "convolution forward";
    case Direction::backward_data:
      return "convolution backward data";
    case Direction::backward_filter:
      return "convolution backward filter";
  }
  return "convolution";
}

}  // namespace

Cost ConvolutionShape::cost() const {
  const std::int64_t channels = c / groups;
  const auto taps = static_cast<double>(channels * r * s);
  return {2 * static_cast<double>(output_elements()) * taps,
          4 * static_cast<double>(image_elements() + filter_elements() + output_elements())};
}

// Sub-batches differ by at most one image, so two sizes do. A part's slice of the workspace is, in this order:
//   the filter as the primitive wants it | scratchpad | the part's result, where it cannot be written in place
struct ConvolutionPlan::Primitives {
  int parts = 1;
  SubBatch larger, smaller;
  memory::desc stored_filter;
  std::size_t filter_bytes = 0, scratchpad_bytes = 0, result_bytes = 0;
  bool scaled = false;  // alpha, beta are not 1, 0

  std::size_t slice() const { return filter_bytes + scratchpad_bytes + result_bytes; }
  std::int64_t begin(std::int64_t n, int part) const {
    const std::int64_t base = n / parts, extra = n % parts;
    return part * base + std::min<std::int64_t>(part, extra);
  }
};

ConvolutionPlan::ConvolutionPlan(const ConvolutionShape& shape, int parts) : shape_(shape), primitives_(std::make_unique<Primitives>()) {
  const SingleThreaded one_thread;
  Primitives& p = *primitives_;
  p.parts = static_cast<int>(std::clamp<std::int64_t>(parts > 0 ? parts : parts_for(shape.cost()), 1, shape.n));
  p.stored_filter = stored_filter_desc(shape);
  p.scaled = shape.alpha != 1.0F || shape.beta != 0.0F;
  const std::int64_t most = (shape.n + p.parts - 1) / p.parts;
  p.larger = make_sub_batch(shape, most);
  if (shape.n % p.parts != 0) p.smaller = make_sub_batch(shape, most - 1);
  for (const SubBatch* batch : {&p.larger, &p.smaller}) {
    if (!batch->compute) continue;
    if (batch->reordered) p.filter_bytes = std::max(p.filter_bytes, align(batch->filter.get_size()));
    p.scratchpad_bytes = std::max(p.scratchpad_bytes, align(batch->scratchpad.get_size()));
  }
  if (shape.direction == Direction::backward_filter) {
    if (p.parts > 1 || p.scaled) p.result_bytes = align(static_cast<std::size_t>(shape.filter_elements()) * sizeof(float));
  } else if (p.scaled) {
    p.result_bytes = align((shape.direction == Direction::forward ? p.larger.outputs : p.larger.images).get_size());
  }
}

ConvolutionPlan::~ConvolutionPlan() = default;

std::size_t ConvolutionPlan::workspace_bytes() const { return primitives_->slice() * static_cast<std::size_t>(primitives_->parts); }

void ConvolutionPlan::run_part(int part, float* x, float* w, float* y, std::byte* workspace) const {
  const SingleThreaded one_thread;
  const Primitives& p = *primitives_;
  const std::int64_t first = p.begin(shape_.n, part), count = p.begin(shape_.n, part + 1) - first;
  const SubBatch& batch = count == p.larger.images.dims()[0] ? p.larger : p.smaller;
  std::byte* const filter_slice = workspace + p.slice() * static_cast<std::size_t>(part);
  std::byte* const scratch_slice = filter_slice + p.filter_bytes;
  auto* const result_slice = reinterpret_cast<float*>(scratch_slice + p.scratchpad_bytes);
  float* const x_part = x + first * shape_.c * shape_.h * shape_.w;
  float* const y_part = y + first * shape_.k * shape_.out_h * shape_.out_w;
  const bool aside = p.result_bytes != 0;
  dnnl::stream& stream = this_thread();

  // The filter this part reads, or the gradient it writes: the caller's, or this part's slice.
  float* const stored = shape_.direction == Direction::backward_filter && aside ? result_slice : w;
  const memory stored_filter(p.stored_filter, cpu(), stored);
  const memory filter(batch.filter, cpu(), batch.reordered ? static_cast<void*>(filter_slice) : stored);
  const auto reorder = [&](const memory& from, const memory& to) {
    if (batch.reordered) batch.reorder.execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  };
  std::unordered_map<int, memory> arguments;
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(batch.scratchpad, cpu(), p.scratchpad_bytes != 0 ? scratch_slice : nullptr));
  switch (shape_.direction) {
    case Direction::forward:
      reorder(stored_filter, filter);
      arguments.emplace(DNNL_ARG_SRC, memory(batch.images, cpu(), x_part));
      arguments.emplace(DNNL_ARG_WEIGHTS, filter);
      arguments.emplace(DNNL_ARG_DST, memory(batch.outputs, cpu(), aside ? result_slice : y_part));
      break;
    case Direction::backward_data:
      reorder(stored_filter, filter);
      arguments.emplace(DNNL_ARG_DIFF_DST, memory(batch.outputs, cpu(), y_part));
      arguments.emplace(DNNL_ARG_WEIGHTS, filter);
      arguments.emplace(DNNL_ARG_DIFF_SRC, memory(batch.images, cpu(), aside ? result_slice : x_part));
      break;
    case Direction::backward_filter:
      arguments.emplace(DNNL_ARG_SRC, memory(batch.images, cpu(), x_part));
      arguments.emplace(DNNL_ARG_DIFF_DST, memory(batch.outputs, cpu(), y_part));
      arguments.emplace(DNNL_ARG_DIFF_WEIGHTS, filter);
      break;
  }
  batch.compute.execute(stream, arguments);
  if (shape_.direction == Direction::backward_filter) {
    reorder(filter, stored_filter);
  } else if (aside) {
    const bool forward = shape_.direction == Direction::forward;
    float* const target = forward ? y_part : x_part;
    const std::int64_t elements = count * (forward ? shape_.k * shape_.out_h * shape_.out_w : shape_.c * shape_.h * shape_.w);
    // With beta 0 the old value is not read: it may be NaN.
    if (shape_.beta == 0.0F) {
      for (std::int64_t i = 0; i < elements; ++i) target[i] = shape_.alpha * result_slice[i];
    } else {
      for (std::int64_t i = 0; i < elements; ++i) target[i] = shape_.alpha * result_slice[i] + shape_.beta * target[i];
    }
  }
}

// Elements [part] of the filter's gradient: the parts' contributions, always added in the same order.
void ConvolutionPlan::sum_partial_filters(int part, int parts, float* w, const std::byte* workspace) const {
  const Primitives& p = *primitives_;
  const std::int64_t elements = shape_.filter_elements();
  const std::int64_t begin = elements * part / parts, end = elements * (part + 1) / parts;
  const auto partial = [&](int i) {
    return reinterpret_cast<const float*>(workspace + p.slice() * static_cast<std::size_t>(i) + p.filter_bytes + p.scratchpad_bytes);
  };
  constexpr std::int64_t kBlock = 1024;  // sums stay in the first-level cache
  std::array<float, kBlock> sum;
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t count = std::min(kBlock, end - first);
    std::copy_n(partial(0) + first, count, sum.data());
    for (int i = 1; i < p.parts; ++i) {
      const float* from = partial(i) + first;
      for (std::int64_t e = 0; e < count; ++e) sum[static_cast<std::size_t>(e)] += from[e];
    }
    float* to = w + first;
    if (shape_.beta == 0.0F) {
      for (std::int64_t e = 0; e < count; ++e) to[e] = shape_.alpha * sum[static_cast<std::size_t>(e)];
    } else {
      for (std::int64_t e = 0; e < count; ++e) to[e] = shape_.alpha * sum[static_cast<std::size_t>(e)] + shape_.beta * to[e];
    }
  }
}

cudaError_t ConvolutionPlan::enqueue(const std::shared_ptr<const ConvolutionPlan>& plan, cudaStream_t stream, float* x, float* w, float* y,
                                     void* workspace) {
  const ConvolutionShape& shape = plan->shape_;
  const auto touch = [](const void* address, std::int64_t elements, bool write) {
    return Touch{address, static_cast<std::size_t>(elements) * sizeof(float), write};
  };
  const bool sums = shape.direction == Direction::backward_filter && plan->primitives_->result_bytes != 0;
  Operation operation;
  operation.kind = OperationKind::convolution;
  operation.name = name_of(shape.direction);
  operation.cost = shape.cost();
  operation.touches = {touch(x, shape.image_elements(), shape.direction == Direction::backward_data),
                       touch(y, shape.output_elements(), shape.direction == Direction::forward)};
  if (!sums) operation.touches.push_back(touch(w, shape.filter_elements(), shape.direction == Direction::backward_filter));
  if (plan->workspace_bytes() != 0) operation.touches.push_back({workspace, plan->workspace_bytes(), true});
  operation.parts = plan->primitives_->parts;
  operation.run = [=](int part) {
    plan->run_part(part, resolve(x), resolve(w), resolve(y), workspace ? resolve(static_cast<std::byte*>(workspace)) : nullptr);
  };
  if (const cudaError_t status = sim::enqueue(stream, std::move(operation)); status != cudaSuccess || !sums) return status;

  Operation sum;
  sum.kind = OperationKind::convolution;
  sum.name = std::string(name_of(shape.direction)) + ": sum of parts";
  const auto elements = static_cast<double>(shape.filter_elements()), parts = static_cast<double>(plan->primitives_->parts);
  sum.cost = {elements * parts, 4 * elements * (parts + 1)};
  sum.touches = {touch(w, shape.filter_elements(), true), {workspace, plan->workspace_bytes(), false}};
  sum.parts = parts_for(sum.cost);
  sum.run = [=, count = sum.parts](int part) {
    plan->sum_partial_filters(part, count, resolve(w), resolve(static_cast<const std::byte*>(workspace)));
  };
  return sim::enqueue(stream, std::move(sum));
}

}  // namespace lockstep::sim::dnn
