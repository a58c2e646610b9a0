#include "simulator/gpu/cudnn/convolution.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulator/gpu/blas/product.h"
#include "simulator/gpu/cudnn/sub_batch.h"
#include "simulator/gpu/runtime/single_threaded.h"

namespace lockstep::sim::dnn {
namespace {

constexpr std::size_t kSliceAlignment = 256;

std::size_t align(std::size_t bytes) { return (bytes + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment; }

// A 1 x 1 filter makes a convolution a matrix product over pixels, and the stored filter is a matrix already: no reorder, no partial sums.
// While the filter is small, sub-batches of it are faster all the same, by a product of our own (narrow_product.h) or oneDNN's 1 x 1
// kernels (measured on MobileNetV2's shapes); past the sizes below oneDNN's GEMM is, by up to 1.6 times.
std::optional<blas::Product> as_product(const ConvolutionShape& shape) {
  constexpr std::int64_t kLargeFilter = 65536, kLargeGradient = 8192;
  const bool one_by_one = shape.r == 1 && shape.s == 1 && shape.groups == 1 && shape.strides == std::array<std::int64_t, 2>{1, 1};
  const bool padded = shape.pre[0] + shape.pre[1] + shape.post[0] + shape.post[1] > 0;
  const Epilogue& after = shape.epilogue;
  if (!one_by_one || padded || shape.storage != Storage::f32 || after.any()) return std::nullopt;
  const bool gradient = shape.direction == Direction::backward_filter;
  if (shape.c * shape.k < (gradient ? kLargeGradient : kLargeFilter)) return std::nullopt;
  const std::int64_t pixels = shape.n * shape.h * shape.w;
  blas::Product product;
  switch (shape.direction) {
    case Direction::forward:  // y (pixels x k) = x (pixels x c) * w^T
      product.rows = pixels, product.cols = shape.k, product.depth = shape.c;
      product.left_ld = shape.c, product.right_ld = shape.c, product.right_transposed = true;
      break;
    case Direction::backward_data:  // dx (pixels x c) = dy (pixels x k) * w
      product.rows = pixels, product.cols = shape.c, product.depth = shape.k;
      product.left_ld = shape.k, product.right_ld = shape.c;
      break;
    case Direction::backward_filter:  // dw (k x c) = dy^T * x
      product.rows = shape.k, product.cols = shape.c, product.depth = pixels;
      product.left_ld = shape.k, product.left_transposed = true, product.right_ld = shape.c;
      break;
  }
  product.out_ld = product.c_row_stride = product.cols;
  product.c_col_stride = 1;
  return product;
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

float* floats(std::byte* address) { return reinterpret_cast<float*>(address); }

// values = alpha * values + beta * old; with beta 0 the old values are not read: they may be NaN.
void scale(const ConvolutionShape& shape, float* values, const void* old, std::int64_t offset, std::int64_t count) {
  if (shape.beta == 0.0F) {
    if (shape.alpha == 1.0F) return;
    for (std::int64_t i = 0; i < count; ++i) values[i] *= shape.alpha;
    return;
  }
  constexpr std::int64_t kBlock = 512;
  std::array<float, kBlock> before;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t block = std::min(kBlock, count - first);
    load(shape.storage, old, offset + first, block, before.data());
    for (std::int64_t i = 0; i < block; ++i) {
      values[first + i] = shape.alpha * values[first + i] + shape.beta * before[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace

Cost ConvolutionShape::cost() const {
  const std::int64_t channels = c / groups;
  const auto taps = static_cast<double>(channels * r * s);
  const auto touched = image_elements() + filter_elements() + output_elements() * (epilogue.addend ? 2 : 1) + (epilogue.bias ? k : 0);
  return {2 * static_cast<double>(output_elements()) * taps, static_cast<double>(bytes_of(storage)) * static_cast<double>(touched)};
}

// Sub-batches differ by at most one image, so two sizes do. A part's slice of the workspace is, in this order:
//   the filter in the primitive's layout | scratchpad | images, outputs, filter in single precision, where the caller's are not or the
//   part's result cannot be written in place
struct ConvolutionPlan::Primitives {
  std::optional<blas::Product> product;  // instead of everything below
  int parts = 1;
  SubBatch larger, smaller;
  std::size_t filter_bytes = 0, scratchpad_bytes = 0, x_bytes = 0, y_bytes = 0, w_bytes = 0;

  std::size_t x_offset() const { return filter_bytes + scratchpad_bytes; }
  std::size_t y_offset() const { return x_offset() + x_bytes; }
  std::size_t w_offset() const { return y_offset() + y_bytes; }
  std::size_t slice() const { return w_offset() + w_bytes; }
  std::int64_t begin(std::int64_t n, int part) const {
    const std::int64_t base = n / parts, extra = n % parts;
    return part * base + std::min<std::int64_t>(part, extra);
  }
};

ConvolutionPlan::ConvolutionPlan(const ConvolutionShape& shape, int parts) : shape_(shape), primitives_(std::make_unique<Primitives>()) {
  const SingleThreaded one_thread;
  Primitives& p = *primitives_;
  const int wanted = parts > 0 ? parts : parts_for(shape.cost());
  p.product = as_product(shape);
  p.parts = p.product ? wanted : static_cast<int>(std::clamp<std::int64_t>(wanted, 1, shape.n));
  if (p.product) return;
  const std::int64_t most = (shape.n + p.parts - 1) / p.parts;
  p.larger = SubBatch(shape, most);
  if (shape.n % p.parts != 0) p.smaller = SubBatch(shape, most - 1);
  for (const SubBatch* batch : {&p.larger, &p.smaller}) {
    if (batch->images() == 0) continue;
    p.filter_bytes = std::max(p.filter_bytes, align(batch->filter_bytes()));
    p.scratchpad_bytes = std::max(p.scratchpad_bytes, align(batch->scratchpad_bytes()));
  }
  const bool narrow = shape.storage != Storage::f32, scaled = shape.alpha != 1.0F || shape.beta != 0.0F;
  const auto single = [](std::int64_t elements) { return align(static_cast<std::size_t>(elements) * sizeof(float)); };
  if (narrow || (scaled && shape.direction == Direction::backward_data)) p.x_bytes = single(most * shape.c * shape.h * shape.w);
  if (narrow || (scaled && shape.direction == Direction::forward)) p.y_bytes = single(most * shape.k * shape.out_h * shape.out_w);
  if (narrow || (shape.direction == Direction::backward_filter && (scaled || p.parts > 1))) p.w_bytes = single(shape.filter_elements());
}

ConvolutionPlan::~ConvolutionPlan() = default;

std::size_t ConvolutionPlan::workspace_bytes() const { return primitives_->slice() * static_cast<std::size_t>(primitives_->parts); }

void ConvolutionPlan::run_part(int part, const ConvolutionPointers& pointers, std::byte* workspace) const {
  const Primitives& p = *primitives_;
  auto* const x = static_cast<float*>(pointers.x);
  auto* const w = static_cast<float*>(pointers.w);
  auto* const y = static_cast<float*>(pointers.y);
  if (p.product) {
    const bool forward = shape_.direction == Direction::forward, data = shape_.direction == Direction::backward_data;
    float* const out = forward ? y : data ? x : w;
    blas::compute(*p.product, {shape_.alpha, shape_.beta}, forward ? x : y, shape_.direction == Direction::backward_filter ? x : w, out,
                  nullptr, out, part, p.parts);
    return;
  }
  const SingleThreaded one_thread;
  const std::int64_t first = p.begin(shape_.n, part), count = p.begin(shape_.n, part + 1) - first;
  const SubBatch& batch = count == p.larger.images() ? p.larger : p.smaller;
  std::byte* const slice = workspace + p.slice() * static_cast<std::size_t>(part);
  const std::int64_t image = shape_.c * shape_.h * shape_.w, output = shape_.k * shape_.out_h * shape_.out_w;

  // What the primitive works on: the caller's tensors, or their widened copies in this part's slice.
  float* const part_x = p.x_bytes != 0 ? floats(slice + p.x_offset()) : x + first * image;
  float* const part_y = p.y_bytes != 0 ? floats(slice + p.y_offset()) : y + first * output;
  float* const part_w = p.w_bytes != 0 ? floats(slice + p.w_offset()) : w;
  if (shape_.storage != Storage::f32) {
    if (shape_.direction != Direction::backward_data) load(shape_.storage, pointers.x, first * image, count * image, part_x);
    if (shape_.direction != Direction::forward) load(shape_.storage, pointers.y, first * output, count * output, part_y);
    if (shape_.direction != Direction::backward_filter) load(shape_.storage, pointers.w, 0, shape_.filter_elements(), part_w);
  }
  batch.run(part_x, part_w, part_y, slice, slice + p.filter_bytes);
  if (shape_.direction == Direction::forward) finish(pointers, part_y, first * output, count * output);
  if (shape_.direction == Direction::backward_data) finish(pointers, part_x, first * image, count * image);
}

// Scales what was computed for elements [first, first + count), applies the epilogue and stores it, filters (channels) together.
void ConvolutionPlan::finish(const ConvolutionPointers& pointers, float* computed, std::int64_t first, std::int64_t count) const {
  const Epilogue& after = shape_.epilogue;
  const bool forward = shape_.direction == Direction::forward;
  void* const target = forward ? pointers.y : pointers.x;
  const bool in_place = shape_.storage == Storage::f32 && computed == static_cast<float*>(target) + first;
  if (in_place && !after.any()) return;
  const std::int64_t k = forward ? shape_.k : shape_.c;
  std::vector<float> addend(after.addend ? static_cast<std::size_t>(k) : 0), bias(after.bias ? static_cast<std::size_t>(k) : 0);
  if (after.bias) load(shape_.storage, pointers.bias, 0, k, bias.data());
  for (std::int64_t done = 0; done < count; done += k) {
    float* const row = computed + done;
    scale(shape_, row, target, first + done, k);
    if (after.addend) {
      load(shape_.storage, pointers.addend, first + done, k, addend.data());
      for (std::int64_t i = 0; i < k; ++i) row[i] += addend[static_cast<std::size_t>(i)];
    }
    if (after.bias) {
      for (std::int64_t i = 0; i < k; ++i) row[i] += bias[static_cast<std::size_t>(i)];
    }
    if (after.relu) {  // NaN stays NaN
      for (std::int64_t i = 0; i < k; ++i) {
        const float value = row[i] < 0.0F ? 0.0F : row[i];
        row[i] = value > after.upper_clip ? after.upper_clip : value;
      }
    }
    if (!in_place) store(shape_.storage, row, k, target, first + done);
  }
}

// Elements [part] of the filter's gradient: the parts' contributions, always added in the same order.
void ConvolutionPlan::sum_partial_filters(int part, int parts, void* w, const std::byte* workspace) const {
  const Primitives& p = *primitives_;
  const std::int64_t elements = shape_.filter_elements();
  const std::int64_t begin = elements * part / parts, end = elements * (part + 1) / parts;
  const auto partial = [&](int i) {
    return reinterpret_cast<const float*>(workspace + p.slice() * static_cast<std::size_t>(i) + p.w_offset());
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
    scale(shape_, sum.data(), w, first, count);
    store(shape_.storage, sum.data(), count, w, first);
  }
}

cudaError_t ConvolutionPlan::enqueue(const std::shared_ptr<const ConvolutionPlan>& plan, cudaStream_t stream,
                                     const ConvolutionPointers& pointers, void* workspace) {
  const ConvolutionShape& shape = plan->shape_;
  const Primitives& p = *plan->primitives_;
  const std::size_t element = bytes_of(shape.storage);
  const auto read = [&](const void* address, std::int64_t elements) {
    return Touch{address, static_cast<std::size_t>(elements) * element, false};
  };
  const bool sums = shape.direction == Direction::backward_filter && p.w_bytes != 0;
  std::vector<Touch> touches, result;  // the result's come last, and with the operation that stores it
  (shape.direction == Direction::backward_data ? result : touches).push_back(read(pointers.x, shape.image_elements()));
  (shape.direction == Direction::backward_filter ? result : touches).push_back(read(pointers.w, shape.filter_elements()));
  (shape.direction == Direction::forward ? result : touches).push_back(read(pointers.y, shape.output_elements()));
  if (shape.epilogue.addend) touches.push_back(read(pointers.addend, shape.output_elements()));
  if (shape.epilogue.bias) touches.push_back(read(pointers.bias, shape.k));
  result.push_back(result.front());
  result.back().write = true;
  if (shape.beta == 0.0F) result.erase(result.begin());  // what was there is not read

  Operation operation;
  operation.kind = OperationKind::convolution;
  operation.name = name_of(shape.direction);
  operation.cost = shape.cost();
  operation.touches = std::move(touches);
  if (!sums) operation.touches.insert(operation.touches.end(), result.begin(), result.end());
  if (plan->workspace_bytes() != 0) operation.touches.push_back({workspace, plan->workspace_bytes(), true});
  operation.parts = p.parts;
  operation.run = [=](int part) {
    const ConvolutionPointers here{resolve(pointers.x), resolve(pointers.w), resolve(pointers.y), resolve(pointers.addend),
                                   resolve(pointers.bias)};
    plan->run_part(part, here, workspace ? resolve(static_cast<std::byte*>(workspace)) : nullptr);
  };
  if (const cudaError_t status = sim::enqueue(stream, std::move(operation)); status != cudaSuccess || !sums) return status;

  Operation sum;
  sum.kind = OperationKind::convolution;
  sum.name = std::string(name_of(shape.direction)) + ": sum of parts";
  const auto elements = static_cast<double>(shape.filter_elements()), parts = static_cast<double>(p.parts);
  sum.cost = {elements * parts, elements * (sizeof(float) * parts + static_cast<double>(element))};
  sum.touches = std::move(result);
  for (int part = 0; part < p.parts; ++part) {
    const auto offset = p.slice() * static_cast<std::size_t>(part) + p.w_offset();
    sum.touches.push_back(
        {static_cast<const std::byte*>(workspace) + offset, static_cast<std::size_t>(shape.filter_elements()) * sizeof(float), false});
  }
  sum.parts = parts_for(sum.cost);
  sum.run = [=, w = pointers.w, count = sum.parts](int part) {
    plan->sum_partial_filters(part, count, resolve(w), resolve(static_cast<const std::byte*>(workspace)));
  };
  return sim::enqueue(stream, std::move(sum));
}

}  // namespace lockstep::sim::dnn
