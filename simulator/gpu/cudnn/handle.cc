// The virtual cuDNN's handle, versions, words for statuses, and the execution of plans.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "simulator/gpu/cudnn/descriptor.h"
#include "simulator/gpu/runtime/faults.h"

// Belongs to the device that was current when it was made; work goes to its stream.
struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};

using namespace lockstep::sim::dnn;  // NOLINT: the C interface of this file
namespace sim = lockstep::sim;

size_t cudnnGetVersion() { return CUDNN_VERSION; }

size_t cudnnGetCudartVersion() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? static_cast<size_t>(version) : 0;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
#define LOCKSTEP_STATUS(name) \
  case name:                  \
    return #name
  switch (status) {
    LOCKSTEP_STATUS(CUDNN_STATUS_SUCCESS);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_INITIALIZED);
    LOCKSTEP_STATUS(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_DEPRECATED);
    LOCKSTEP_STATUS(CUDNN_STATUS_LICENSE_ERROR);
    LOCKSTEP_STATUS(CUDNN_STATUS_RUNTIME_IN_PROGRESS);
    LOCKSTEP_STATUS(CUDNN_STATUS_RUNTIME_FP_OVERFLOW);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_PADDING);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM);
    LOCKSTEP_STATUS(CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM);
    LOCKSTEP_STATUS(CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED);
    LOCKSTEP_STATUS(CUDNN_STATUS_EXECUTION_FAILED);
    LOCKSTEP_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
    LOCKSTEP_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUBLAS);
    LOCKSTEP_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CUDART);
    LOCKSTEP_STATUS(CUDNN_STATUS_EXECUTION_FAILED_CURAND);
  }
#undef LOCKSTEP_STATUS
  return "CUDNN_UNKNOWN_STATUS";
}

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (!message || max_size == 0) return;
  const std::string words = take_last_refusal();
  const size_t length = std::min(words.size(), max_size - 1);
  std::memcpy(message, words.data(), length);
  message[length] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "nowhere to put the handle");
  auto context = std::make_unique<cudnnContext>();
  if (cudaGetDevice(&context->device) != cudaSuccess) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "no device");
  *handle = context.release();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
  std::unique_ptr<cudnnContext>{handle}.reset();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId) {
  if (!handle) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
  if (streamId && sim::device_of(streamId) != handle->device) {
    return refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "the stream belongs to another device than the handle");
  }
  handle->stream = streamId;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* streamId) {
  if (!handle || !streamId) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle, or nowhere to put the stream");
  *streamId = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack) {
  if (!handle || !executionPlan || !variantPack) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle, plan or variant pack");
  if (const auto planned = sim::planned_fault("cudnnBackendExecute", handle->device)) {
    return refuse(static_cast<cudnnStatus_t>(*planned), "fails as planned");
  }
  const auto* plan_descriptor = static_cast<const Descriptor*>(executionPlan);
  const auto* pack_descriptor = static_cast<const Descriptor*>(variantPack);
  if (!plan_descriptor->finalized || !pack_descriptor->finalized) {
    return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the variant pack is not finalized");
  }
  const auto* plan = plan_descriptor->as<PlanValue>();
  const auto* pack = pack_descriptor->as<PackValue>();
  if (!plan || !pack) return refuse(CUDNN_STATUS_BAD_PARAM, "execute takes a plan and a variant pack");
  const auto pointer = [&](std::int64_t uid) {
    const auto found = pack->pointers.find(uid);
    return found == pack->pointers.end() ? nullptr : found->second;
  };
  const ConvolutionPointers pointers{pointer(plan->x.uid), pointer(plan->w.uid), pointer(plan->y.uid),
                                     plan->addend ? pointer(plan->addend->uid) : nullptr, plan->bias ? pointer(plan->bias->uid) : nullptr};
  if (!pointers.x || !pointers.w || !pointers.y || (plan->addend && !pointers.addend) || (plan->bias && !pointers.bias)) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "the variant pack lacks a tensor of the plan");
  }
  const auto misaligned = [](const void* address, const PlanValue::Bound& bound) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bound.alignment) != 0;
  };
  if (misaligned(pointers.x, plan->x) || misaligned(pointers.w, plan->w) || misaligned(pointers.y, plan->y) ||
      (plan->addend && misaligned(pointers.addend, *plan->addend)) || (plan->bias && misaligned(pointers.bias, *plan->bias))) {
    return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "a tensor starts at a lower alignment than its descriptor promised");
  }
  if (plan->plan->workspace_bytes() != 0 && !pack->workspace)
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
  if (sim::device_of(handle->stream) != handle->device) {
    return refuse(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "the default stream is that of another device than the handle's");
  }
  const cudaError_t status = ConvolutionPlan::enqueue(plan->plan, handle->stream, pointers, pack->workspace);
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS
                               : refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the stream does not take the operation");
}
