// Descriptors of a cuDNN, whichever it is compiled against, for the programs that put the same questions to both.
#pragma once

#include <cudnn.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace lockstep::test {

using Ints = std::vector<std::int64_t>;

inline std::mt19937 generator;
inline std::int64_t pick(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(generator() % static_cast<std::uint32_t>(high - low + 1));
}
inline bool chance(int percent) { return pick(1, 100) <= percent; }

inline std::string text(const Ints& values) {
  std::string out = "[";
  for (const auto value : values) out += (out.size() > 1 ? "," : "") + std::to_string(value);
  return out + "]";
}

inline void say(const std::string& what, int status) { std::printf("%s -> %d\n", what.c_str(), status); }

// In a process of its own: NVIDIA's library does not survive every wrong descriptor. -1: it died, and the line is not compared.
template <typename Call>
int survive(Call call) {
  int ends[2];
  if (pipe(ends) != 0) return -2;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stderr)) _exit(2);
    const int status = call();
    if (write(ends[1], &status, sizeof status) != sizeof status) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  int status = -1;
  if (read(ends[0], &status, sizeof status) != sizeof status) status = -1;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return status;
}

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { created_ = cudnnBackendCreateDescriptor(type, &raw_); }
  ~Descriptor() { cudnnBackendDestroyDescriptor(raw_); }
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_), created_(other.created_) { other.raw_ = nullptr; }
  Descriptor(const Descriptor&) = delete;

  cudnnBackendDescriptor_t raw() const { return raw_; }
  int created() const { return created_; }
  int finalize() { return cudnnBackendFinalize(raw_); }
  int set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
    return cudnnBackendSetAttribute(raw_, name, type, count, values);
  }
  int ints(cudnnBackendAttributeName_t name, const Ints& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  int get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t room, std::int64_t* count, void* to) const {
    return cudnnBackendGetAttribute(raw_, name, type, room, count, to);
  }

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
  int created_ = 0;
};

inline Ints channels_last(const Ints& dims) {  // strides of an N, C, spatial... tensor stored N, spatial..., C
  Ints strides(dims.size());
  std::int64_t step = dims.size() > 1 ? dims[1] : 1;
  for (std::size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= dims[i];
  }
  if (dims.size() > 1) strides[1] = 1;
  if (!dims.empty()) strides[0] = step;
  return strides;
}

inline Ints channels_first(const Ints& dims) {
  Ints strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

struct TensorSpec {
  Ints dims, strides;
  std::int64_t uid = 1;
  std::int64_t alignment = 16;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false;
};

inline int fill(Descriptor& tensor, const TensorSpec& spec) {
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &spec.type);
  tensor.ints(CUDNN_ATTR_TENSOR_DIMENSIONS, spec.dims);
  tensor.ints(CUDNN_ATTR_TENSOR_STRIDES, spec.strides);
  tensor.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {spec.uid});
  tensor.ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {spec.alignment});
  if (spec.is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &spec.is_virtual);
  return tensor.finalize();
}

inline Descriptor tensor(std::int64_t uid, const Ints& dims, const Ints& strides, int* status = nullptr) {
  Descriptor result(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int answer = fill(result, {dims, strides, uid});
  if (status) *status = answer;
  return result;
}

struct Geometry {
  Ints pre, post, strides, dilations;
  std::int64_t spatial = 2;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
};

inline Descriptor convolution(const Geometry& geometry, int* status = nullptr) {
  Descriptor result(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  result.ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {geometry.spatial});
  result.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &geometry.type);
  result.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &geometry.mode);
  result.ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, geometry.pre);
  result.ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, geometry.post);
  result.ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, geometry.strides);
  result.ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, geometry.dilations);
  const int answer = result.finalize();
  if (status) *status = answer;
  return result;
}

struct Kind {
  const char* name;
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
inline const Kind kKinds[] = {
    {"forward", CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {"backward data", CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {"backward filter", CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

}  // namespace lockstep::test
