#include "support.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep::sim::dnn {
namespace {

// Is the tensor packed with its dimensions in this order, innermost first? Strides of dimensions of size 1 say nothing.
bool packed_in_order(const TensorValue& tensor, const std::array<std::size_t, 4>& order) {
  std::int64_t expected = 1;
  for (const std::size_t d : order) {
    if (tensor.dims[d] != 1 && tensor.strides[d] != expected) return false;
    expected *= tensor.dims[d];
  }
  return true;
}

constexpr std::array<std::size_t, 4> kChannelsLast{1, 3, 2, 0};
constexpr std::array<std::size_t, 4> kChannelsFirst{3, 2, 1, 0};

}  // namespace

std::int64_t data_type_bytes(int type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    default:
      return 0;
  }
}

bool packed(const TensorValue& tensor) {
  std::int64_t elements = 1, reach = 1;
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    elements *= tensor.dims[d];
    reach += (tensor.dims[d] - 1) * tensor.strides[d];
  }
  return elements == reach;
}

bool overlaps(const TensorValue& tensor) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // stride, dimension
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] > 1 && tensor.strides[d] > 0) steps.emplace_back(tensor.strides[d], tensor.dims[d]);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 1;
  for (const auto& [stride, dim] : steps) {
    if (stride < reach) return true;
    reach = stride * dim;
  }
  return false;
}

OperationAttributes operation_attributes(cudnnBackendDescriptorType_t operation) {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {Direction::backward_data,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {Direction::backward_filter,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {Direction::forward,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

// Filters are KRSC or KCRS. NVIDIA's heuristics take other packed orders too (Keras' HWIO among them), but plan them exactly
// as KRSC, down to the workspace: a sign that their engines know only the two formats. So nothing here takes them.
std::optional<ConvolutionShape> computable(const OperationValue& operation) {
  const auto& [x, w, y] = std::tie(operation.x, operation.w, operation.y);
  if (x.dims.size() != 4 || operation.geometry.mode != CUDNN_CROSS_CORRELATION || operation.geometry.type != CUDNN_DATA_FLOAT)
    return std::nullopt;
  for (const TensorValue* tensor : {&x, &w, &y}) {
    if (tensor->type != CUDNN_DATA_FLOAT || tensor->is_virtual) return std::nullopt;
  }
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

std::int64_t engine_count(const GraphValue& graph) { return graph.operations.size() == 1 && computable(graph.operations.front()) ? 1 : 0; }

}  // namespace lockstep::sim::dnn
