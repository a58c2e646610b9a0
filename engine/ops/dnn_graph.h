// cuDNN's graph API in the small: descriptors that clean up after themselves, and a plan for a graph of one operation.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device/check.h"

namespace lockstep::ops {

class DnnDescriptor {
 public:
  explicit DnnDescriptor(cudnnBackendDescriptorType_t type) { LOCKSTEP_CHECK(cudnnBackendCreateDescriptor(type, &descriptor_)); }
  ~DnnDescriptor() {
    if (descriptor_ != nullptr) static_cast<void>(cudnnBackendDestroyDescriptor(descriptor_));
  }
  DnnDescriptor(DnnDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  template <typename Value>
  DnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value& value) {
    LOCKSTEP_CHECK(cudnnBackendSetAttribute(descriptor_, name, type, 1, &value));
    return *this;
  }
  template <typename Value>
  DnnDescriptor& set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<Value>& values) {
    LOCKSTEP_CHECK(cudnnBackendSetAttribute(descriptor_, name, type, static_cast<std::int64_t>(values.size()), values.data()));
    return *this;
  }
  DnnDescriptor& set(cudnnBackendAttributeName_t name, const DnnDescriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.descriptor_);
  }
  DnnDescriptor& finalize() {
    LOCKSTEP_CHECK(cudnnBackendFinalize(descriptor_));
    return *this;
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// A tensor of float with its unique id in the graph. Extents are in cuDNN's logical order (N, C, H, W or K, C, R, S), strides say how it
// lies.
DnnDescriptor dnn_tensor(std::int64_t uid, const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides);

// An execution plan for one operation, and the pack of pointers it was last run with.
class DnnPlan {
 public:
  // The first plan cuDNN's heuristics offer that gives the same bits every time, in full single precision; none where there is no such
  // plan.
  static std::optional<DnnPlan> make(cudnnHandle_t handle, const DnnDescriptor& operation);

  std::size_t workspace_bytes() const { return static_cast<std::size_t>(workspace_bytes_); }
  // Pointers go with uids 1, 2, 3.
  void run(cudnnHandle_t handle, const std::vector<void*>& pointers, void* workspace);

 private:
  DnnPlan(DnnDescriptor plan, std::int64_t workspace_bytes) : plan_(std::move(plan)), workspace_bytes_(workspace_bytes) {}

  DnnDescriptor plan_;
  std::int64_t workspace_bytes_;
  std::optional<DnnDescriptor> pack_;  // made again only when addresses change
  std::vector<void*> pack_pointers_;
  void* pack_workspace_ = nullptr;
};

}  // namespace lockstep::ops
