// CUDA runtime: what programs ask of a device and set on it, beyond what the engine needs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "simulator/gpu/nvidia/cudart/launch.h"

using namespace lockstep::nvidia;
using lockstep::sim::called;

namespace {

bool exists(int device) { return device >= 0 && device < lockstep::sim::runtime().devices(); }

// cudaDeviceAttr; those that are not here are 0: textures, surfaces and what the virtual GPU does not have.
cudaError_t attribute(int* value, int attribute, int device) {
  if (value == nullptr || attribute < 1) return cudaErrorInvalidValue;
  cudaDeviceProp p;
  if (const cudaError_t status = cudaGetDeviceProperties(&p, device)) return status;
  const auto number = [](std::size_t n) { return static_cast<int>(std::min<std::size_t>(n, 0x7fffffff)); };
  const std::map<int, int> values = {{1, p.maxThreadsPerBlock},
                                     {2, p.maxThreadsDim[0]},
                                     {3, p.maxThreadsDim[1]},
                                     {4, p.maxThreadsDim[2]},
                                     {5, p.maxGridSize[0]},
                                     {6, p.maxGridSize[1]},
                                     {7, p.maxGridSize[2]},
                                     {8, number(p.sharedMemPerBlock)},
                                     {9, number(p.totalConstMem)},
                                     {10, p.warpSize},
                                     {11, number(p.memPitch)},
                                     {12, p.regsPerBlock},
                                     {14, number(p.textureAlignment)},
                                     {15, 1},
                                     {16, p.multiProcessorCount},
                                     {19, p.canMapHostMemory},
                                     {31, p.concurrentKernels},
                                     {33, p.pciBusID},
                                     {34, p.pciDeviceID},
                                     {37, p.memoryBusWidth},
                                     {38, p.l2CacheSize},
                                     {39, p.maxThreadsPerMultiProcessor},
                                     {40, p.asyncEngineCount},
                                     {41, p.unifiedAddressing},
                                     {50, p.pciDomainID},
                                     {75, p.major},
                                     {76, p.minor},
                                     {81, number(p.sharedMemPerMultiprocessor)},
                                     {82, p.regsPerMultiprocessor},
                                     {83, p.managedMemory},
                                     {97, number(p.sharedMemPerBlockOptin)},
                                     {99, p.hostRegisterSupported},
                                     {106, p.maxBlocksPerMultiProcessor},
                                     {115, p.memoryPoolsSupported}};
  const auto found = values.find(attribute);
  *value = found != values.end() ? found->second : 0;
  return cudaSuccess;
}

// Stack, printf and heap have the sizes of a GPU; setting them is accepted and changes nothing.
cudaError_t limit(size_t* value, int limit) {
  constexpr std::size_t kDefaults[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  if (value == nullptr || limit < 0 || limit >= static_cast<int>(std::size(kDefaults))) return cudaErrorInvalidValue;
  *value = kDefaults[limit];
  return cudaSuccess;
}

cudaError_t bus_id(char* text, int length, int device) {
  if (text == nullptr || length < 13) return cudaErrorInvalidValue;
  if (!exists(device)) return cudaErrorInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device + 1));
  return cudaSuccess;
}

cudaError_t device_at(int* device, const char* text) {
  unsigned domain = 0, bus = 0, slot = 0;
  if (device == nullptr || text == nullptr || std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) < 2) return cudaErrorInvalidValue;
  if (!exists(static_cast<int>(bus) - 1)) return cudaErrorInvalidDevice;
  *device = static_cast<int>(bus) - 1;
  return cudaSuccess;
}

template <typename Use>
cudaError_t with_stream(const char* name, cudaStream_t handle, const Use& use) {
  return called(name, [&] {
    if (const cudaError_t status = lockstep::sim::ready_to_call()) return status;
    lockstep::sim::Stream* const stream = lockstep::sim::stream_behind(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : use(*stream);
  });
}

struct Callback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;
};

}  // namespace

extern "C" {

cudaError_t cudaDeviceGetAttribute(int* value, int attr, int device) {
  return called(__func__, [&] { return attribute(value, attr, device); });
}
cudaError_t cudaDeviceGetLimit(size_t* pValue, int which) {
  return called(__func__, [&] { return limit(pValue, which); });
}
cudaError_t cudaDeviceSetLimit(int which, size_t) {
  std::size_t ignored = 0;
  return called(__func__, [&] { return limit(&ignored, which); });
}
cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return called(__func__, [&] { return bus_id(pciBusId, len, device); });
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  return called(__func__, [&] { return device_at(device, pciBusId); });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;  // streams have one priority
  return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(int* config) {
  if (config != nullptr) *config = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(int) { return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned int) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags != nullptr) *flags = 8;  // cudaDeviceMapHost
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return called(__func__, [&] { return exists(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}
cudaError_t cudaProfilerStart(void) { return cudaSuccess; }
cudaError_t cudaProfilerStop(void) { return cudaSuccess; }

// Waits for the device; memory stays, which a program that ends does not notice.
cudaError_t cudaDeviceReset(void) { return cudaDeviceSynchronize(); }

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  return with_stream(__func__, hStream, [&](const lockstep::sim::Stream&) {
    if (priority != nullptr) *priority = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  return with_stream(__func__, hStream, [&](const lockstep::sim::Stream& stream) {
    if (device != nullptr) *device = stream.device;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData, unsigned int flags) {
  if (callback == nullptr || flags != 0) return called(__func__, [] { return cudaErrorInvalidValue; });
  auto kept = std::make_unique<Callback>(Callback{callback, stream, userData});
  const auto run = [](void* data) {
    const std::unique_ptr<Callback> mine(static_cast<Callback*>(data));
    mine->function(mine->stream, cudaSuccess, mine->data);
  };
  const cudaError_t status = cudaLaunchHostFunc(stream, run, kept.get());
  if (status == cudaSuccess) static_cast<void>(kept.release());  // the callback frees it
  return status;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return flags != 0 ? called(__func__, [] { return cudaErrorNotSupported; }) : cudaEventRecord(event, stream);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(pGraphExec, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }  // the first launch has nothing to send either

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int f) { return {x, y, z, w, f}; }
}
