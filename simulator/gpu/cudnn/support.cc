#include "simulator/gpu/cudnn/support.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::sim::dnn {
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

}  // namespace lockstep::sim::dnn
