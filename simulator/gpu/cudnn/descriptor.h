// What stands behind a cudnnBackendDescriptor_t: attributes while it is being described, a checked value once finalized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "convolution.h"
#include "cudnn_graph.h"

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

struct GraphValue {
  std::vector<OperationValue> operations;
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
  std::int64_t x_uid = 0, w_uid = 0, y_uid = 0;
  std::int64_t x_alignment = 1, w_alignment = 1, y_alignment = 1;
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
  std::variant<std::monostate, TensorValue, GeometryValue, OperationValue, GraphValue, EngineValue, HeuristicValue, ConfigurationValue,
               PlanValue, PackValue>
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
