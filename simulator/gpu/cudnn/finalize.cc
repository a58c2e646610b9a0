// What makes a description complete and possible; NVIDIA's library gives the same answers (tests/conformance).
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "simulator/gpu/cudnn/attributes.h"
#include "simulator/gpu/cudnn/finalize_graph.h"
#include "simulator/gpu/cudnn/support.h"

namespace lockstep::sim::dnn {
namespace {

constexpr std::size_t kMaxSpatialDims = 6;

cudnnStatus_t make(Descriptor& descriptor, TensorValue& tensor) {
  tensor.dims = array<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = array<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_STRIDES);
  tensor.uid = scalar<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID).value_or(0);
  tensor.alignment = scalar<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT).value_or(1);
  tensor.is_virtual = scalar<bool>(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL).value_or(false);
  const int type = number(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  if (tensor.dims.empty() || tensor.dims.size() > CUDNN_DIM_MAX || tensor.dims.size() != tensor.strides.size()) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor needs as many strides as dimensions, 1 to 8 of them");
  }
  if (any_below(tensor.dims, 0) || any_below(tensor.strides, 0)) return refuse(CUDNN_STATUS_BAD_PARAM, "a dimension or stride is negative");
  if (type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "packed integer types are no tensor types of the graph interface");
  }
  const std::int64_t bytes = data_type_bytes(type);
  if (bytes == 0) return refuse(CUDNN_STATUS_BAD_PARAM, "unknown data type of a tensor");
  if (tensor.alignment <= 0 || tensor.alignment % bytes != 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a tensor's alignment is a positive multiple of its elements' size");
  }
  tensor.type = static_cast<cudnnDataType_t>(type);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, GeometryValue& geometry) {
  const std::int64_t spatial = scalar<std::int64_t>(descriptor, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS).value_or(0);
  if (spatial < 1 || spatial > static_cast<std::int64_t>(kMaxSpatialDims)) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a convolution has 1 to 6 spatial dimensions");
  }
  const auto count = static_cast<std::size_t>(spatial);
  const auto read = [&](cudnnBackendAttributeName_t name, bool optional) {
    Ints values = array<std::int64_t>(descriptor, name);
    if (values.empty() && optional) values.assign(count, 0);
    if (values.size() > kMaxSpatialDims) values.resize(kMaxSpatialDims);
    return values;
  };
  geometry.pre = read(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, true);
  geometry.post = read(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, true);
  geometry.strides = read(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, false);
  geometry.dilations = read(CUDNN_ATTR_CONVOLUTION_DILATIONS, false);
  for (const Ints* values : {&geometry.pre, &geometry.post, &geometry.strides, &geometry.dilations}) {
    if (values->size() != count)
      return refuse(CUDNN_STATUS_BAD_PARAM, "paddings, strides and dilations are one for each spatial dimension");
  }
  if (any_below(geometry.pre, 0) || any_below(geometry.post, 0)) return refuse(CUDNN_STATUS_BAD_PARAM, "a padding is negative");
  if (any_below(geometry.strides, 1) || any_below(geometry.dilations, 1))
    return refuse(CUDNN_STATUS_BAD_PARAM, "a stride or dilation is not positive");
  geometry.type = static_cast<cudnnDataType_t>(number(descriptor, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT));
  geometry.mode = static_cast<cudnnConvolutionMode_t>(number(descriptor, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_operation(const OperationValue& op) {
  const std::size_t spatial = op.geometry.pre.size(), rank = spatial + 2;
  const auto& [x, w, y] = std::tie(op.x.dims, op.w.dims, op.y.dims);
  if (x.size() != rank || w.size() != rank || y.size() != rank)
    return refuse(CUDNN_STATUS_BAD_PARAM, "images, filter and output differ in rank");
  for (const Ints* dims : {&x, &w, &y}) {
    if (any_below(*dims, 1)) return refuse(CUDNN_STATUS_BAD_PARAM, "a convolution has no empty tensors");
  }
  if (x[0] != y[0]) return refuse(CUDNN_STATUS_BAD_PARAM, "images and output differ in batch");
  if (x[1] % w[1] != 0) return refuse(CUDNN_STATUS_BAD_PARAM, "the images' channels are no multiple of the filter's");
  if (y[1] != w[0]) return refuse(CUDNN_STATUS_BAD_PARAM, "the output has not one channel for each filter");
  if (w[0] % (x[1] / w[1]) != 0) return refuse(CUDNN_STATUS_BAD_PARAM, "filters cannot be dealt evenly to the groups");
  if (!packed(op.w)) return refuse(CUDNN_STATUS_BAD_PARAM, "the filter has holes");
  if (overlaps(op.x) || overlaps(op.y)) return refuse(CUDNN_STATUS_BAD_PARAM, "elements of the images or the output share memory");
  for (std::size_t d = 0; d < spatial; ++d) {
    const std::int64_t reach = (w[d + 2] - 1) * op.geometry.dilations[d] + 1;
    const std::int64_t room = x[d + 2] + op.geometry.pre[d] + op.geometry.post[d] - reach;
    if (room < 0 || room / op.geometry.strides[d] + 1 != y[d + 2])
      return refuse(CUDNN_STATUS_BAD_PARAM, "the output's size does not follow from the images'");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, OperationValue& op) {
  const OperationAttributes names = operation_attributes(descriptor.type);
  op.direction = names.direction;
  const auto* x = referred<TensorValue>(descriptor, names.x);
  const auto* w = referred<TensorValue>(descriptor, names.w);
  const auto* y = referred<TensorValue>(descriptor, names.y);
  const auto* geometry = referred<GeometryValue>(descriptor, names.geometry);
  if (!x || !w || !y || !geometry) return refuse(CUDNN_STATUS_BAD_PARAM, "a convolution operation lacks a finalized tensor or convolution");
  op.x = *x;
  op.w = *w;
  op.y = *y;
  op.geometry = *geometry;
  op.alpha = factor(descriptor, names.alpha, 1);
  op.beta = factor(descriptor, names.beta, 0);
  return check_operation(op);
}

bool has_handle(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  return scalar<void*>(descriptor, name).value_or(nullptr) != nullptr;
}

cudnnStatus_t make(Descriptor& descriptor, HeuristicValue& heuristic) {
  const auto* graph = referred<GraphValue>(descriptor, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const int mode = number(descriptor, CUDNN_ATTR_ENGINEHEUR_MODE, -1);
  if (!graph) return refuse(CUDNN_STATUS_BAD_PARAM, "a heuristic lacks its finalized operation graph");
  if (mode < CUDNN_HEUR_MODE_INSTANT || mode >= CUDNN_HEUR_MODES_COUNT) return refuse(CUDNN_STATUS_BAD_PARAM, "a heuristic lacks its mode");
  const char* told = std::getenv("LOCKSTEP_SIM_CUDNN_REFUSE");
  const bool told_to_refuse = told && std::strcmp(told, "1") == 0;
  if (engine_count(*graph) > 0 && !told_to_refuse) heuristic.engines.push_back({*graph, 0});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, EngineValue& engine) {
  const auto* graph = referred<GraphValue>(descriptor, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const auto index = scalar<std::int64_t>(descriptor, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  if (!graph) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an engine lacks its finalized operation graph");
  if (!index) return refuse(CUDNN_STATUS_BAD_PARAM, "an engine lacks its index");
  if (*index < 0 || *index >= engine_count(*graph)) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "there is no such engine for this graph");
  engine = {*graph, *index};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, ConfigurationValue& configuration) {
  const auto* engine = referred<EngineValue>(descriptor, CUDNN_ATTR_ENGINECFG_ENGINE);
  if (!engine) return refuse(CUDNN_STATUS_BAD_PARAM, "an engine configuration lacks its engine");
  configuration.engine = *engine;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, PlanValue& plan) {
  const auto* configuration = referred<ConfigurationValue>(descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (!configuration) return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an execution plan lacks its finalized engine configuration");
  if (!has_handle(descriptor, CUDNN_ATTR_EXECUTION_PLAN_HANDLE))
    return refuse(CUDNN_STATUS_BAD_PARAM, "an execution plan lacks its handle");
  const auto recipe = computable(configuration->engine.graph);
  if (!recipe) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no engine computes this graph");
  plan.plan = std::make_shared<const ConvolutionPlan>(recipe->shape);
  const auto bound = [](const TensorValue& tensor) { return PlanValue::Bound{tensor.uid, tensor.alignment}; };
  plan.x = bound(recipe->x);
  plan.w = bound(recipe->w);
  plan.y = bound(recipe->y);
  if (recipe->addend) plan.addend = bound(*recipe->addend);
  if (recipe->bias) plan.bias = bound(*recipe->bias);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t make(Descriptor& descriptor, PackValue& pack) {
  const auto uids = array<std::int64_t>(descriptor, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = array<void*>(descriptor, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (uids.size() != pointers.size()) return refuse(CUDNN_STATUS_BAD_PARAM, "a variant pack needs a pointer for each id");
  // An id may come twice; the first counts.
  for (std::size_t i = 0; i < uids.size(); ++i) pack.pointers.emplace(uids[i], pointers[i]);
  pack.workspace = scalar<void*>(descriptor, CUDNN_ATTR_VARIANT_PACK_WORKSPACE).value_or(nullptr);
  return CUDNN_STATUS_SUCCESS;
}

template <typename Value>
cudnnStatus_t make_value(Descriptor& descriptor) {
  Value value;
  const cudnnStatus_t status = make(descriptor, value);
  if (status == CUDNN_STATUS_SUCCESS) {
    descriptor.value = std::move(value);
    descriptor.finalized = true;
  }
  return status;
}

}  // namespace

cudnnStatus_t finalize(Descriptor& descriptor) {
  if (descriptor.finalized) return refuse(CUDNN_STATUS_BAD_PARAM, "the descriptor is finalized already");
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return make_value<TensorValue>(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return make_value<GeometryValue>(descriptor);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return make_value<OperationValue>(descriptor);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return make_value<PointwiseValue>(descriptor);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return make_value<PointwiseOperationValue>(descriptor);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return make_value<GraphValue>(descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return make_value<HeuristicValue>(descriptor);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return make_value<EngineValue>(descriptor);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return make_value<ConfigurationValue>(descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return make_value<PlanValue>(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return make_value<PackValue>(descriptor);
  }
  return refuse(CUDNN_STATUS_NOT_SUPPORTED, "unknown kind of descriptor");
}

}  // namespace lockstep::sim::dnn
