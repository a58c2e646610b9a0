// Which graphs an engine here computes: a convolution alone, or cuDNN's one fused pattern for every GPU,
//
//   y = relu(convolution(x, w) + addend + bias)
//
// with or without addend and relu. NVIDIA's library offers a T4 plans for exactly these (its other fusions are compiled at run time, for
// newer GPUs), so a graph that runs here runs there.
#include <cmath>

#include "simulator/gpu/cudnn/support.h"
#include "simulator/gpu/runtime/config.h"

namespace lockstep::sim::dnn {
namespace {

// Is the tensor packed with its dimensions in this order, innermost first? Strides of dimensions of size 1 say nothing.
bool packed_in_order(const TensorValue& tensor, const std::array<std::size_t, 4>& order) {
  if (tensor.dims.size() != order.size()) return false;
  std::int64_t expected = 1;
  for (const std::size_t d : order) {
    if (tensor.dims[d] != 1 && tensor.strides[d] != expected) return false;
    expected *= tensor.dims[d];
  }
  return true;
}

constexpr std::array<std::size_t, 4> kChannelsLast{1, 3, 2, 0};
constexpr std::array<std::size_t, 4> kChannelsFirst{3, 2, 1, 0};

// bfloat16 came with compute capability 8.0.
std::optional<Storage> storage_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return Storage::f32;
    case CUDNN_DATA_HALF:
      return Storage::f16;
    case CUDNN_DATA_BFLOAT16:
      return config().machine.major >= 8 ? std::optional(Storage::bf16) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Filters are KRSC or KCRS. NVIDIA's heuristics take other packed orders too (Keras' HWIO among them), but plan them exactly
// as KRSC, down to the workspace: a sign that their engines know only the two formats. So nothing here takes them.
std::optional<ConvolutionShape> shape_of(const OperationValue& operation) {
  const auto& x = operation.x;
  const auto& w = operation.w;
  const auto& y = operation.y;
  if (operation.geometry.mode != CUDNN_CROSS_CORRELATION || operation.geometry.type != CUDNN_DATA_FLOAT) return std::nullopt;
  if (!packed_in_order(x, kChannelsLast) || !packed_in_order(y, kChannelsLast)) return std::nullopt;
  const bool krsc = packed_in_order(w, kChannelsLast);
  if (!krsc && !packed_in_order(w, kChannelsFirst)) return std::nullopt;
  ConvolutionShape shape;
  shape.direction = operation.direction;
  shape.n = x.dims[0];
  shape.c = x.dims[1];
  shape.h = x.dims[2];
  shape.w = x.dims[3];
  shape.k = w.dims[0];
  shape.groups = x.dims[1] / w.dims[1];
  shape.r = w.dims[2];
  shape.s = w.dims[3];
  shape.out_h = y.dims[2];
  shape.out_w = y.dims[3];
  for (std::size_t d = 0; d < 2; ++d) {
    shape.pre[d] = operation.geometry.pre[d];
    shape.post[d] = operation.geometry.post[d];
    shape.strides[d] = operation.geometry.strides[d];
    shape.dilations[d] = operation.geometry.dilations[d];
  }
  const std::int64_t c = w.dims[1], area = shape.r * shape.s;
  shape.filter_strides =
      krsc ? std::array<std::int64_t, 4>{area * c, 1, shape.s * c, c} : std::array<std::int64_t, 4>{area * c, area, shape.s, 1};
  shape.alpha = static_cast<float>(operation.alpha);
  shape.beta = static_cast<float>(operation.beta);
  return shape;
}

// Walks from what the convolution makes to what is stored. Each step takes the tensor before and makes the next.
class Chain {
 public:
  Chain(const GraphValue& graph, Recipe& recipe) : recipe_(recipe), left_(graph.operations.size()), at_(&recipe.y) {
    for (const AnyOperation& any : graph.operations) {
      if (const auto* pointwise = std::get_if<PointwiseOperationValue>(&any)) steps_.push_back(pointwise);
    }
    left_ = steps_.size();
  }

  bool follow() {
    while (left_ > 0) {
      const PointwiseOperationValue* step = next();
      if (!step || !at_->is_virtual || at_->type != CUDNN_DATA_FLOAT || !apply(*step)) return false;
      at_ = &*step->y;
      --left_;
    }
    recipe_.y = TensorValue(*at_);
    return true;
  }

 private:
  bool takes(const std::optional<TensorValue>& tensor) const { return tensor && tensor->uid == at_->uid; }

  // The one operation that takes the tensor.
  const PointwiseOperationValue* next() const {
    const PointwiseOperationValue* found = nullptr;
    for (const PointwiseOperationValue* step : steps_) {
      if (!takes(step->x) && !takes(step->b)) continue;
      if (found || !step->y || (takes(step->x) && takes(step->b))) return nullptr;
      found = step;
    }
    return found;
  }

  bool apply(const PointwiseOperationValue& step) {
    Epilogue& after = recipe_.shape.epilogue;
    if (step.what.type != CUDNN_DATA_FLOAT || step.alpha1 != 1 || step.alpha2 != 1 || step.y->dims != at_->dims) return false;
    if (step.what.mode == CUDNN_POINTWISE_RELU_FWD) {
      if (!after.bias || after.relu || step.what.lower_clip != 0 || step.what.slope != 0 || step.what.upper_clip < 0) return false;
      after.relu = true;
      after.upper_clip = static_cast<float>(step.what.upper_clip);
      return true;
    }
    if (step.what.mode != CUDNN_POINTWISE_ADD || after.bias) return false;
    const auto& other = takes(step.x) ? step.b : step.x;
    if (!other || other->is_virtual) return false;
    if (other->dims == Ints{1, recipe_.shape.k, 1, 1} && packed_in_order(*other, kChannelsLast)) {
      recipe_.bias = other;
      return after.bias = true;
    }
    if (after.addend || other->dims != at_->dims || !packed_in_order(*other, kChannelsLast)) return false;
    recipe_.addend = other;
    return after.addend = true;
  }

  Recipe& recipe_;
  std::vector<const PointwiseOperationValue*> steps_;
  std::size_t left_;
  const TensorValue* at_;
};

}  // namespace

std::optional<Recipe> computable(const GraphValue& graph) {
  const OperationValue* convolution = nullptr;
  for (const AnyOperation& any : graph.operations) {
    const auto* op = std::get_if<OperationValue>(&any);
    if (op && convolution) return std::nullopt;
    if (op) convolution = op;
  }
  if (!convolution) return std::nullopt;
  const auto shape = shape_of(*convolution);
  if (!shape) return std::nullopt;
  Recipe recipe{*shape, convolution->x, convolution->w, convolution->y, {}, {}};
  if (graph.operations.size() > 1) {
    if (shape->direction != Direction::forward || shape->beta != 0.0F || !Chain(graph, recipe).follow()) return std::nullopt;
    if (!recipe.bias || !packed_in_order(recipe.y, kChannelsLast)) return std::nullopt;
  }
  const auto storage = storage_of(recipe.x.type);
  if (!storage) return std::nullopt;
  recipe.shape.storage = *storage;
  std::vector<const TensorValue*> stored{&recipe.x, &recipe.w, &recipe.y};
  if (recipe.addend) stored.push_back(&*recipe.addend);
  if (recipe.bias) stored.push_back(&*recipe.bias);
  for (const TensorValue* tensor : stored) {
    if (tensor->type != recipe.x.type || tensor->is_virtual) return std::nullopt;
  }
  return recipe;
}

std::int64_t engine_count(const GraphValue& graph) { return computable(graph) ? 1 : 0; }

}  // namespace lockstep::sim::dnn
