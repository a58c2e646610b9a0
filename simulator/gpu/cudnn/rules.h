// Which attributes each kind of descriptor has, of what type and how many, and how a wrong one is refused.
//
// The statuses are those that NVIDIA's library (9.x) was seen to give; they are not uniform, so each rule carries its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cudnn_graph.h>

namespace lockstep::sim::dnn {

struct Rule {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  bool many = false;      // any number of elements; else exactly one
  bool settable = true;   // else every attempt gets `wrong_type`
  bool readable = false;  // after finalizing
  cudnnStatus_t wrong_type = CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
  cudnnStatus_t too_few = CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t too_many = CUDNN_STATUS_BAD_PARAM;
  bool nullable = false;  // a null descriptor counts as none
};

// Null: this kind of descriptor has no such attribute.
const Rule* find_rule(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name);

bool known_descriptor(cudnnBackendDescriptorType_t type);

// Bytes of one element; 0 for descriptors, which are no plain bytes, and for types that no attribute here has.
std::size_t element_bytes(cudnnBackendAttributeType_t type);

}  // namespace lockstep::sim::dnn
