// Structures that programs made by nvcc pass to the runtime: sizes, and where the fields that are used lie. Compiled twice, with NVIDIA's
// headers and with ours.
#include <cstddef>

#include "tests/simulator/gpu/nvidia/layout/layout.h"

namespace lockstep::nvidia {

#define SIZE(type) \
  { #type, sizeof(type) }
#define FIELD(type, field) \
  { #type "." #field, offsetof(type, field) }
#define PROP(field) FIELD(cudaDeviceProp, field)
#define VALUE(name) \
  { #name, static_cast < std::size_t>(name) }

std::vector<Field> LAYOUT() {
  return {
      SIZE(cudaDeviceProp),
      PROP(uuid),
      PROP(luid),
      PROP(luidDeviceNodeMask),
      PROP(totalGlobalMem),
      PROP(sharedMemPerBlock),
      PROP(regsPerBlock),
      PROP(warpSize),
      PROP(memPitch),
      PROP(maxThreadsPerBlock),
      PROP(maxThreadsDim),
      PROP(maxGridSize),
      PROP(totalConstMem),
      PROP(major),
      PROP(minor),
      PROP(textureAlignment),
      PROP(texturePitchAlignment),
      PROP(multiProcessorCount),
      PROP(integrated),
      PROP(canMapHostMemory),
      PROP(surfaceAlignment),
      PROP(concurrentKernels),
      PROP(ECCEnabled),
      PROP(pciBusID),
      PROP(pciDeviceID),
      PROP(pciDomainID),
      PROP(asyncEngineCount),
      PROP(unifiedAddressing),
      PROP(memoryBusWidth),
      PROP(l2CacheSize),
      PROP(maxThreadsPerMultiProcessor),
      PROP(streamPrioritiesSupported),
      PROP(sharedMemPerMultiprocessor),
      PROP(regsPerMultiprocessor),
      PROP(managedMemory),
      PROP(isMultiGpuBoard),
      PROP(pageableMemoryAccess),
      PROP(concurrentManagedAccess),
      PROP(cooperativeLaunch),
      PROP(sharedMemPerBlockOptin),
      PROP(maxBlocksPerMultiProcessor),
      PROP(reservedSharedMemPerBlock),
      PROP(hostRegisterSupported),
      PROP(memoryPoolsSupported),
      PROP(reserved),
      SIZE(cudaPointerAttributes),
      FIELD(cudaPointerAttributes, type),
      FIELD(cudaPointerAttributes, device),
      FIELD(cudaPointerAttributes, devicePointer),
      FIELD(cudaPointerAttributes, hostPointer),
      SIZE(cudaFuncAttributes),
      FIELD(cudaFuncAttributes, sharedSizeBytes),
      FIELD(cudaFuncAttributes, localSizeBytes),
      FIELD(cudaFuncAttributes, maxThreadsPerBlock),
      FIELD(cudaFuncAttributes, numRegs),
      FIELD(cudaFuncAttributes, ptxVersion),
      FIELD(cudaFuncAttributes, maxDynamicSharedSizeBytes),
      FIELD(cudaFuncAttributes, preferredShmemCarveout),
      SIZE(cudaLaunchConfig_t),
      FIELD(cudaLaunchConfig_t, gridDim),
      FIELD(cudaLaunchConfig_t, blockDim),
      FIELD(cudaLaunchConfig_t, dynamicSmemBytes),
      FIELD(cudaLaunchConfig_t, stream),
      FIELD(cudaLaunchConfig_t, attrs),
      FIELD(cudaLaunchConfig_t, numAttrs),
      SIZE(cudaMemLocation),
      SIZE(cudaChannelFormatDesc),
      SIZE(dim3),
      VALUE(CUDART_VERSION),
      VALUE(cudaErrorInvalidPitchValue),
      VALUE(cudaErrorInvalidSymbol),
      VALUE(cudaErrorMissingConfiguration),
      VALUE(cudaErrorInvalidKernelImage),
      VALUE(cudaErrorNoKernelImageForDevice),
      VALUE(cudaErrorInvalidPtx),
      VALUE(cudaErrorNotSupported),
      VALUE(cudaMemoryTypeManaged),
      VALUE(cudaMemAttachGlobal),
  };
}

}  // namespace lockstep::nvidia
