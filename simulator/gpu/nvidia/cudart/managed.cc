// CUDA runtime: memory that host and device share. It lies with the host, where every device reaches it, so advice about its place is
// accepted and changes nothing.
#include "simulator/gpu/nvidia/cudart/launch.h"

using lockstep::sim::called;

namespace {

cudaError_t is_managed(const void* address) {
  if (const cudaError_t status = lockstep::sim::ready_to_use_device()) return status;
  const auto block = lockstep::sim::runtime().memory.find(address);
  return block && block->managed ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

extern "C" {

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t, cudaMemLocation, unsigned int, cudaStream_t) {
  return called(__func__, [&] { return is_managed(devPtr); });
}
cudaError_t cudaMemAdvise(const void* devPtr, size_t, int, cudaMemLocation) {
  return called(__func__, [&] { return is_managed(devPtr); });
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* devPtr, size_t, unsigned int) {
  return called(__func__, [&] { return is_managed(devPtr); });
}
cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  return called(__func__, [&] {
    if (pDevice == nullptr || flags != 0) return cudaErrorInvalidValue;
    const auto block = lockstep::sim::runtime().memory.find(pHost);
    if (!block || block->device != lockstep::sim::kHostDevice) return cudaErrorInvalidValue;
    *pDevice = pHost;
    return cudaSuccess;
  });
}
}
