#include "simulator/gpu/cudnn/rules.h"

#include <algorithm>
#include <array>

namespace lockstep::sim::dnn {
namespace {

constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kGeometry = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kData = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kFilter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto kPointwise = CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
constexpr auto kApplied = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto kConfiguration = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;

constexpr auto kBad = CUDNN_STATUS_BAD_PARAM;
constexpr auto kUnsupported = CUDNN_STATUS_NOT_SUPPORTED;
constexpr auto kBadType = CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;

constexpr Rule one(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                   cudnnStatus_t wrong_type = kBadType) {
  return {descriptor, name, type, false, true, true, wrong_type, kBad, kBad};
}
constexpr Rule many(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    cudnnStatus_t wrong_type = kBadType) {
  return {descriptor, name, type, true, true, true, wrong_type, kBad, kBad};
}
constexpr Rule one_descriptor(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name, cudnnStatus_t wrong_type,
                              cudnnStatus_t too_few, cudnnStatus_t too_many) {
  return {descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, false, true, false, wrong_type, too_few, too_many};
}
constexpr Rule optional_descriptor(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name) {
  Rule rule = one_descriptor(descriptor, name, kBad, kBad, kBad);
  rule.nullable = true;
  return rule;
}
constexpr Rule only_read(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         bool is_many, cudnnStatus_t when_set) {
  return {descriptor, name, type, is_many, false, true, when_set, when_set, when_set};
}

constexpr std::array kRules = {
    one(kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE),
    many(kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64),
    many(kTensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64),
    one(kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64),
    Rule{kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, false, true, false, kBadType, kBad, kBad},
    one(kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN),
    one(kTensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN),
    one(kTensor, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64),
    one(kTensor, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64),
    Rule{kTensor, CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, false, true, false, kBadType, kBad, kBad},

    one(kGeometry, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE),
    one(kGeometry, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE),
    many(kGeometry, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64),
    many(kGeometry, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64),
    many(kGeometry, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64),
    many(kGeometry, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64),
    one(kGeometry, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, kBad),

    one_descriptor(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kBad, kBad, kUnsupported),
    one_descriptor(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kBad, kBad, kUnsupported),
    one_descriptor(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kBad, kBad, kUnsupported),
    one_descriptor(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kBad, kBad, kUnsupported),
    one(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, kBad),
    one(kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, kBad),

    one_descriptor(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kBad, kBad, kUnsupported),
    one_descriptor(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kBad, kBad, kUnsupported),
    one_descriptor(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kBad, kBad, kUnsupported),
    one_descriptor(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kBad, kBad, kUnsupported),
    one(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, kUnsupported),
    one(kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, kUnsupported),

    one_descriptor(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kBadType, kUnsupported, kUnsupported),
    one_descriptor(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kBad, kBad, kUnsupported),
    one_descriptor(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kBad, kBad, kUnsupported),
    one_descriptor(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kBad, kBad, kUnsupported),
    one(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, kBad),
    one(kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, kBad),

    one(kPointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_ELU_ALPHA, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_SWISH_BETA, CUDNN_TYPE_FLOAT, kBad),
    one(kPointwise, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, kBad),

    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_YDESC),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC),
    optional_descriptor(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC),
    one(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, kBad),
    one(kApplied, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, kBad),

    one(kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE),
    // No operations at all may be set; finalizing is what refuses them.
    Rule{kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, true, true, false, kBadType, CUDNN_STATUS_SUCCESS, kBad},
    only_read(kGraph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, false, kBad),

    one(kHeuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE),
    one_descriptor(kHeuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kBadType, kBad, kBad),
    only_read(kHeuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, true, kBad),

    one_descriptor(kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kBadType, kUnsupported, kUnsupported),
    one(kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, kBad),
    only_read(kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, true, kUnsupported),
    only_read(kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, true, kUnsupported),

    Rule{kConfiguration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, false, true, true, kBadType, kUnsupported,
         kUnsupported},

    one(kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE),
    one_descriptor(kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kBadType, kUnsupported, kUnsupported),
    only_read(kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, false, kUnsupported),

    many(kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, kUnsupported),
    many(kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, kUnsupported),
    one(kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, kUnsupported),
};

}  // namespace

const Rule* find_rule(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name) {
  for (const Rule& rule : kRules) {
    if (rule.descriptor == descriptor && rule.name == name) return &rule;
  }
  return nullptr;
}

bool known_descriptor(cudnnBackendDescriptorType_t type) {
  return std::any_of(kRules.begin(), kRules.end(), [=](const Rule& rule) { return rule.descriptor == type; });
}

std::size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_INT64:
      return sizeof(std::int64_t);
    case CUDNN_TYPE_FLOAT:
      return sizeof(float);
    case CUDNN_TYPE_DOUBLE:
      return sizeof(double);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return sizeof(void*);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_NUMERICAL_NOTE:
    case CUDNN_TYPE_BEHAVIOR_NOTE:
    case CUDNN_TYPE_TENSOR_REORDERING_MODE:
    case CUDNN_TYPE_POINTWISE_MODE:
      return sizeof(int);
    default:
      return 0;
  }
}

}  // namespace lockstep::sim::dnn
