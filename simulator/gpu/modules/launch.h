// Kernels of PTX modules on streams of the virtual GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <cuda_runtime.h>
#include "simulator/gpu/ptx/module.h"

namespace lockstep::sim {

// As cudaLaunchKernel, with its statuses: an operation of the stream, whose parts are blocks. Arguments are packed as the kernel declares
// them, and addresses in them are the device's; what the kernel touches is checked while it runs. The module lives until the kernel ends.
cudaError_t launch(cudaStream_t stream, const std::shared_ptr<const ptx::Module>& module, const std::string& entry, dim3 grid, dim3 block,
                   std::size_t shared_bytes, std::span<const std::byte> arguments);

}  // namespace lockstep::sim
