// What stands behind a cudnnBackendDescriptor_t: attributes while it is being described, a checked value once finalized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cudnn_graph.h>
#include "simulator/gpu/cudnn/convolution.h"

namespace lockstep::sim::dnn {

using Ints = std::vector<std::int64_t>;

struct TensorValue {
  Ints dims, strides;
  std::int64_t uid = 0;
  std::int64_t alignment = 1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false;
};

struct GeometryValue {
  Ints pre, post, strides, dilations;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
};

struct OperationValue {
  Direction direction = Direction::forward;
  TensorValue x, w, y;  // images, filter, output; or the gradients of these
  GeometryValue geometry;
  double alpha = 1, beta = 0;
};

// What to do to each element; the parameters that a graph computed here may have.
struct PointwiseValue {
  int mode = CUDNN_POINTWISE_ADD;  // a cudnnPointwiseMode_t, or whatever number was set
  int type = CUDNN_DATA_FLOAT;
  double lower_clip = 0, upper_clip = std::numeric_limits<double>::infinity(), slope = 0;
  std::optional<std::int64_t> axis;
};

struct PointwiseOperationValue {
  PointwiseValue what;
  std::optional<TensorValue> x, b, t, y, dx, dy;  // as far as given and finalized
  double alpha1 = 1, alpha2 = 1;

  std::vector<const TensorValue*> inputs() const;
  const TensorValue* output() const;  // y, or dx of a gradient
};

using AnyOperation = std::variant<OperationValue, PointwiseOperationValue>;

struct GraphValue {
  std::vector<AnyOperation> operations;
};

struct EngineValue {
  GraphValue graph;
  std::int64_t index = 0;
};

struct HeuristicValue {
  std::vector<EngineValue> engines;  // best first; none: nothing here computes this graph
};

struct ConfigurationValue {
  EngineValue engine;
};

struct PlanValue {
  std::shared_ptr<const ConvolutionPlan> plan;
  struct Bound {
    std::int64_t uid = 0, alignment = 1;
  };
  Bound x, w, y;
  std::optional<Bound> addend, bias;
};

struct PackValue {
  std::map<std::int64_t, void*> pointers;
  void* workspace = nullptr;
};

struct Descriptor;

// One attribute as it was set: elements as bytes, or copies of the descriptors given.
struct Slot {
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<std::shared_ptr<const Descriptor>> descriptors;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Slot> slots;
  std::variant<std::monostate, TensorValue, GeometryValue, OperationValue, PointwiseValue, PointwiseOperationValue, GraphValue, EngineValue,
               HeuristicValue, ConfigurationValue, PlanValue, PackValue>
      value;

  template <typename Value>
  const Value* as() const {
    return finalized ? std::get_if<Value>(&value) : nullptr;
  }
};

// Checks the attributes and makes the value; the real library's status for the real library's reasons (finalize.cc).
cudnnStatus_t finalize(Descriptor& descriptor);

// Remembers, for cudnnGetLastErrorString, why a call on this thread was refused.
cudnnStatus_t refuse(cudnnStatus_t status, const char* why);
std::string take_last_refusal();

}  // namespace lockstep::sim::dnn
