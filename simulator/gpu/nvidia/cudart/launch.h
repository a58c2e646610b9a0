// Launches of registered kernels.
#pragma once

#include "simulator/gpu/nvidia/cudart/api.h"
#include "simulator/gpu/nvidia/cudart/modules.h"
#include "simulator/gpu/runtime/runtime.h"

extern "C" {
cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entryFuncAddr);
cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream);
}
