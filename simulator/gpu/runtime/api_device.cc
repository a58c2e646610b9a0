// CUDA runtime: devices and peers.
#include <algorithm>
#include <cstdio>

#include "simulator/gpu/runtime/runtime.h"

using namespace lockstep::sim;

namespace {

bool exists(int device) { return device >= 0 && device < runtime().devices(); }

cudaError_t properties(cudaDeviceProp* prop, int device) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (prop == nullptr) return cudaErrorInvalidValue;
  if (!exists(device)) return cudaErrorInvalidDevice;
  const lockstep::clock::Machine& machine = runtime().config.machine;
  *prop = cudaDeviceProp{};
  std::snprintf(prop->name, sizeof(prop->name), "%s", machine.gpu_name.c_str());
  prop->totalGlobalMem = machine.memory_bytes;
  prop->sharedMemPerBlock = 48 << 10;
  prop->regsPerBlock = prop->regsPerMultiprocessor = 65536;
  prop->warpSize = 32;
  prop->maxThreadsPerBlock = 1024;
  prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
  prop->maxThreadsDim[2] = 64;
  prop->maxGridSize[0] = 0x7fffffff;
  prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
  prop->memPitch = 0x7fffffff;
  prop->textureAlignment = prop->surfaceAlignment = 512;
  prop->texturePitchAlignment = 32;
  prop->totalConstMem = 64 << 10;
  prop->major = machine.major;
  prop->minor = machine.minor;
  prop->multiProcessorCount = machine.multiprocessors;
  prop->canMapHostMemory = prop->concurrentKernels = prop->unifiedAddressing = prop->memoryPoolsSupported = 1;
  prop->managedMemory = prop->hostRegisterSupported = 1;
  prop->maxBlocksPerMultiProcessor = machine.threads_per_multiprocessor / 64;
  prop->pciBusID = device + 1;
  prop->asyncEngineCount = 2;
  prop->memoryBusWidth = machine.memory_bus_bits;
  prop->l2CacheSize = machine.l2_bytes;
  prop->maxThreadsPerMultiProcessor = machine.threads_per_multiprocessor;
  prop->sharedMemPerMultiprocessor = machine.shared_per_multiprocessor;
  prop->sharedMemPerBlockOptin = machine.shared_optin;
  return cudaSuccess;
}

cudaError_t count_devices(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = 0;
  if (const cudaError_t status = ready_to_call()) return status;
  *count = runtime().devices();
  return cudaSuccess;
}

cudaError_t select(int device) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (!exists(device)) return cudaErrorInvalidDevice;
  set_current_device(device);
  return cudaSuccess;
}

cudaError_t selected(int* device) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (device == nullptr) return cudaErrorInvalidValue;
  *device = current_device();
  return cudaSuccess;
}

cudaError_t version(int* answer) {
  if (answer == nullptr) return cudaErrorInvalidValue;
  *answer = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t synchronize() {
  if (const cudaError_t status = ready_to_use_device()) return status;
  if (Captures& captures = runtime().captures; captures.any()) {
    if (const cudaError_t status = captures.refuse_device(current_device())) return status;
    if (const cudaError_t status = captures.refuse_unsafe()) return status;
  }
  runtime().executor.wait_device(current_device());
  return runtime().executor.error(current_device());
}

cudaError_t can_access(int* answer, int device, int peer) {
  if (const cudaError_t status = ready_to_call()) return status;
  if (answer == nullptr) return cudaErrorInvalidValue;
  if (!exists(device) || !exists(peer)) return cudaErrorInvalidDevice;
  *answer = device != peer && runtime().config.machine.peer_access ? 1 : 0;
  return cudaSuccess;
}

cudaError_t set_peer(int peer, bool on) {
  if (const cudaError_t status = ready_to_use_device()) return status;
  Runtime& here = runtime();
  if (!exists(peer) || peer == current_device()) return cudaErrorInvalidDevice;
  if (!here.config.machine.peer_access) return on ? cudaErrorPeerAccessUnsupported : cudaErrorPeerAccessNotEnabled;
  if (here.peers[here.index(current_device(), peer)].exchange(on) != on) return cudaSuccess;
  return on ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device) {
  return called(__func__, [&] { return properties(prop, device); });
}
cudaError_t cudaDeviceSynchronize(void) {
  return called(__func__, [&] { return synchronize(); });
}
cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return called(__func__, [&] { return can_access(canAccessPeer, device, peerDevice); });
}
cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  return called(__func__, [&] { return flags != 0 ? cudaErrorInvalidValue : set_peer(peerDevice, true); });
}
cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  return called(__func__, [&] { return set_peer(peerDevice, false); });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return called(__func__, [&] { return count_devices(count); });
}
cudaError_t cudaSetDevice(int device) {
  return called(__func__, [&] { return select(device); });
}
cudaError_t cudaGetDevice(int* device) {
  return called(__func__, [&] { return selected(device); });
}
cudaError_t cudaDriverGetVersion(int* driverVersion) {
  return called(__func__, [&] { return version(driverVersion); });
}
cudaError_t cudaRuntimeGetVersion(int* runtimeVersion) {
  return called(__func__, [&] { return version(runtimeVersion); });
}
}
