#include "simulator/gpu/modules/launch.h"

#include "simulator/gpu/modules/ptx_kernel.h"

namespace lockstep::sim {

cudaError_t launch(cudaStream_t stream, const std::shared_ptr<const ptx::Module>& module, const std::string& entry, dim3 grid, dim3 block,
                   std::size_t shared_bytes, std::span<const std::byte> arguments) {
  cudaLaunchConfig_t config{};
  config.stream = stream;
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  return launch(config, PtxKernel::make(module, entry), arguments);
}

}  // namespace lockstep::sim
