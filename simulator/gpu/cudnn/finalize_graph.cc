// NVIDIA's library (9.x) checks little of a pointwise operation: that the tensors its mode takes have the same rank, where a tensor that
// was not given has rank 0. A graph is checked at its edges: what one operation makes and another takes must be the same tensor.
// Both were found out by asking it (tests/conformance).
#include "simulator/gpu/cudnn/finalize_graph.h"

#include <map>
#include <set>

#include "simulator/gpu/cudnn/attributes.h"

namespace lockstep::sim::dnn {
namespace {

enum class Takes { one, two, three, gradient, anything };

Takes takes(int mode) {
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) return Takes::three;
  if (mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) return Takes::gradient;
  if ((mode >= CUDNN_POINTWISE_ADD && mode <= CUDNN_POINTWISE_SUB && mode != CUDNN_POINTWISE_SQRT) || mode == CUDNN_POINTWISE_ATAN2 ||
      (mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE) || mode == CUDNN_POINTWISE_LOGICAL_AND ||
      mode == CUDNN_POINTWISE_LOGICAL_OR) {
    return Takes::two;
  }
  const bool one = mode == CUDNN_POINTWISE_SQRT || (mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL) ||
                   (mode >= CUDNN_POINTWISE_RELU_FWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD) ||
                   mode == CUDNN_POINTWISE_LOGICAL_NOT || mode == CUDNN_POINTWISE_GEN_INDEX;
  return one ? Takes::one : Takes::anything;
}

// Counts also the dimensions of a tensor that is not finalized.
std::size_t rank(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const Slot* slot = find(descriptor, name);
  if (!slot || slot->descriptors.empty()) return 0;
  return array<std::int64_t>(*slot->descriptors.front(), CUDNN_ATTR_TENSOR_DIMENSIONS).size();
}

std::optional<TensorValue> tensor(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const auto* value = referred<TensorValue>(descriptor, name);
  return value ? std::optional(*value) : std::nullopt;
}

const TensorValue* output_of(const AnyOperation& any) {
  if (const auto* pointwise = std::get_if<PointwiseOperationValue>(&any)) return pointwise->output();
  const auto& op = std::get<OperationValue>(any);
  return op.direction == Direction::forward ? &op.y : op.direction == Direction::backward_data ? &op.x : &op.w;
}

std::vector<const TensorValue*> inputs_of(const AnyOperation& any) {
  if (const auto* pointwise = std::get_if<PointwiseOperationValue>(&any)) return pointwise->inputs();
  const auto& op = std::get<OperationValue>(any);
  switch (op.direction) {
    case Direction::forward:
      return {&op.x, &op.w};
    case Direction::backward_data:
      return {&op.w, &op.y};
    case Direction::backward_filter:
      return {&op.x, &op.y};
  }
  return {};
}

bool same(const TensorValue& a, const TensorValue& b) {
  if (a.dims != b.dims || a.type != b.type || a.is_virtual != b.is_virtual) return false;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    if (a.dims[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

// Which operations take what an operation makes, and how many edges end at it. An operation's edge to itself does not count.
struct Edges {
  std::vector<std::vector<std::size_t>> to;
  std::vector<int> into;
};

// A cycle that can be reached from an operation that depends on no other.
bool runs_in_circles(const Edges& edges, std::size_t at, std::vector<int>& state) {
  constexpr int kOpen = 1, kDone = 2;
  state[at] = kOpen;
  for (const std::size_t next : edges.to[at]) {
    if (state[next] == kOpen || (state[next] != kDone && runs_in_circles(edges, next, state))) return true;
  }
  state[at] = kDone;
  return false;
}

bool can_be_ordered(const Edges& edges) {
  bool begins = false, ends = false;
  std::vector<int> state(edges.to.size(), 0);
  for (std::size_t i = 0; i < edges.to.size(); ++i) {
    ends = ends || edges.to[i].empty();
    if (edges.into[i] != 0) continue;
    begins = true;
    if (state[i] == 0 && runs_in_circles(edges, i, state)) return false;
  }
  return begins && ends;
}

cudnnStatus_t check_edges(const std::vector<AnyOperation>& operations) {
  std::map<std::int64_t, std::size_t> makers;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const TensorValue* made = output_of(operations[i]);
    if (made && !makers.emplace(made->uid, i).second)
      return refuse(CUDNN_STATUS_BAD_PARAM, "two operations of a graph make the same tensor");
  }
  Edges edges{std::vector<std::vector<std::size_t>>(operations.size()), std::vector<int>(operations.size(), 0)};
  for (std::size_t i = 0; i < operations.size(); ++i) {
    for (const TensorValue* taken : inputs_of(operations[i])) {
      const auto maker = makers.find(taken->uid);
      if (maker == makers.end() || maker->second == i) continue;
      if (!same(*taken, *output_of(operations[maker->second]))) {
        return refuse(CUDNN_STATUS_BAD_PARAM, "one operation makes a tensor that another takes with a different shape, type or virtuality");
      }
      edges.to[maker->second].push_back(i);
      ++edges.into[i];
    }
  }
  if (!can_be_ordered(edges)) return refuse(CUDNN_STATUS_BAD_PARAM, "operations of a graph wait for each other");
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::vector<const TensorValue*> PointwiseOperationValue::inputs() const {
  std::vector<const TensorValue*> given;
  for (const auto* input : {&x, &b, &t, &dy}) {
    if (*input) given.push_back(&**input);
  }
  return given;
}

const TensorValue* PointwiseOperationValue::output() const {
  const auto& made = takes(what.mode) == Takes::gradient ? dx : y;
  return made ? &*made : nullptr;
}

cudnnStatus_t make(const Descriptor& descriptor, PointwiseValue& pointwise) {
  pointwise.mode = number(descriptor, CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  pointwise.type = number(descriptor, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  pointwise.lower_clip = factor(descriptor, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
  pointwise.upper_clip = factor(descriptor, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::numeric_limits<double>::infinity());
  pointwise.slope = factor(descriptor, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
  pointwise.axis = scalar<std::int64_t>(descriptor, CUDNN_ATTR_POINTWISE_AXIS);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(const Descriptor& descriptor, PointwiseOperationValue& operation) {
  if (const auto* what = referred<PointwiseValue>(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)) operation.what = *what;
  operation.x = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  operation.b = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  operation.t = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  operation.y = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  operation.dx = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
  operation.dy = tensor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
  operation.alpha1 = factor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  operation.alpha2 = factor(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);

  const std::size_t x = rank(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), b = rank(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
                    y = rank(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
                    dx = rank(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC),
                    dy = rank(descriptor, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC), t = operation.t ? operation.t->dims.size() : 0;
  const auto refuse_ranks = [] { return refuse(CUDNN_STATUS_BAD_PARAM, "tensors of a pointwise operation are missing or differ in rank"); };
  switch (takes(operation.what.mode)) {
    case Takes::one:
      if (x != y) return refuse_ranks();
      break;
    case Takes::two:
      if (x != b || x != y) return refuse_ranks();
      break;
    case Takes::three:
      if (x != b || x != y || x != t) return refuse_ranks();
      break;
    case Takes::gradient: {
      const bool from_t = operation.t && !operation.t->is_virtual;
      if ((from_t ? t : x) != dy || dy != dx) return refuse_ranks();
      break;
    }
    case Takes::anything:
      break;
  }
  if (operation.what.mode == CUDNN_POINTWISE_GEN_INDEX) {
    const std::int64_t axis = operation.what.axis.value_or(-1);
    if (axis < 0 || axis >= static_cast<std::int64_t>(x))
      return refuse(CUDNN_STATUS_BAD_PARAM, "indices are of one of the tensor's dimensions");
  }
  return CUDNN_STATUS_SUCCESS;
}

// The handle may come later, with the plan.
cudnnStatus_t make(const Descriptor& descriptor, GraphValue& graph) {
  const Slot* slot = find(descriptor, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (!slot || slot->descriptors.empty()) return refuse(CUDNN_STATUS_BAD_PARAM, "an operation graph without operations");
  for (const auto& given : slot->descriptors) {
    if (const auto* op = given->as<OperationValue>()) {
      graph.operations.emplace_back(*op);
    } else if (const auto* pointwise = given->as<PointwiseOperationValue>()) {
      graph.operations.emplace_back(*pointwise);
    } else {
      return refuse(CUDNN_STATUS_BAD_PARAM, "an operation graph holds something that is no operation");
    }
  }
  for (const AnyOperation& any : graph.operations) {
    const auto* pointwise = std::get_if<PointwiseOperationValue>(&any);
    if (pointwise && takes(pointwise->what.mode) == Takes::anything) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "unknown pointwise mode");
  }
  return check_edges(graph.operations);
}

}  // namespace lockstep::sim::dnn
