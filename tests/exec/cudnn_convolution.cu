// link: -lcudnn
// mistake: {line}: CUDNN_STATUS_
#include <cudnn.h>

#include <cstdint>

#include "tests/exec/check.h"

#define DNN(call)                                                           \
  do {                                                                      \
    const cudnnStatus_t status_ = (call);                                   \
    if (status_ != CUDNN_STATUS_SUCCESS) {                                  \
      std::printf("line %d: %s\n", __LINE__, cudnnGetErrorString(status_)); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

using Numbers = std::vector<std::int64_t>;
constexpr int kSize = 6, kIn = 4, kOut = 8;  // pixels of a side, channels

cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  DNN(cudnnBackendCreateDescriptor(type, &made));
  return made;
}

template <typename T>
void set(cudnnBackendDescriptor_t at, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
  DNN(cudnnBackendSetAttribute(at, name, type, 1, &value));
}

void set_all(cudnnBackendDescriptor_t at, cudnnBackendAttributeName_t name, const Numbers& values) {
  DNN(cudnnBackendSetAttribute(at, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data()));
}

cudnnBackendDescriptor_t tensor(std::int64_t id, const Numbers& extents) {  // (N, C, H, W), channels last
  cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set_all(made, CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  set_all(made, CUDNN_ATTR_TENSOR_STRIDES, {extents[1] * extents[2] * extents[3], 1, extents[3] * extents[1], extents[1]});
  set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  DNN(cudnnBackendFinalize(made));
  return made;
}

cudnnBackendDescriptor_t convolution(bool mistake) {
  cudnnBackendDescriptor_t window = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  set_all(window, CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  set_all(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1});
  set_all(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1});
  set_all(window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1});
  DNN(cudnnBackendFinalize(window));
  cudnnBackendDescriptor_t made = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR, tensor(1, {1, kIn, kSize, kSize}));
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, tensor(2, {kOut, kIn, 3, 3}));
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_TYPE_BACKEND_DESCRIPTOR, tensor(3, {1, kOut, kSize, kSize - mistake}));
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, window);
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
  set(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
  DNN(cudnnBackendFinalize(made));  // planted
  return made;
}

cudnnBackendDescriptor_t plan_of(cudnnHandle_t handle, cudnnBackendDescriptor_t operation) {
  cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operation);
  DNN(cudnnBackendFinalize(graph));
  cudnnBackendDescriptor_t guess = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(guess, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph);
  set(guess, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  DNN(cudnnBackendFinalize(guess));
  cudnnBackendDescriptor_t config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::int64_t count = 0;
  DNN(cudnnBackendGetAttribute(guess, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &config));
  cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, config);
  DNN(cudnnBackendFinalize(plan));
  return plan;
}

int main(int argc, char** argv) {
  std::vector<float> x(kSize * kSize * kIn), w(kOut * 9 * kIn);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  float *dx = on_device(x), *dw = on_device(w), *dy = on_device(std::vector<float>(kSize * kSize * kOut));
  cudnnHandle_t handle = nullptr;
  DNN(cudnnCreate(&handle));
  cudnnBackendDescriptor_t plan = plan_of(handle, convolution(with_mistake(argc, argv)));
  std::int64_t bytes = 0, count = 0;
  DNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes));
  void* workspace = nullptr;
  if (bytes > 0) CHECK(cudaMalloc(&workspace, static_cast<std::size_t>(bytes)));
  cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* pointers[] = {dx, dw, dy};
  set_all(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2, 3});
  DNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers));
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  DNN(cudnnBackendFinalize(pack));
  DNN(cudnnBackendExecute(handle, plan, pack));
  CHECK(cudaDeviceSynchronize());
  const std::vector<float> y = on_host(dy, kSize * kSize * kOut);
  bool right = true;
  for (int i = 0; i < kSize * kSize * kOut; ++i) {
    const int o = i % kOut, column = i / kOut % kSize, row = i / kOut / kSize;
    float sum = 0;
    for (int k = 0; k < 9 * kIn; ++k) {
      const int c = k % kIn, from = column + k / kIn % 3 - 1, above = row + k / kIn / 3 - 1;
      if (from < 0 || from >= kSize || above < 0 || above >= kSize) continue;
      sum += x[(above * kSize + from) * kIn + c] * w[o * 9 * kIn + k];
    }
    right = right && y[i] == sum;  // whole numbers: every order gives the same sum
  }
  DNN(cudnnDestroy(handle));
  return result(right);
}
