// Launching our own kernels: one way, with a grid that fits the work and the cost that stands beside each kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include <backend/cost.h>
#include "engine/device/check.h"
#include "engine/device/stream.h"

namespace lockstep {

// Kernels are right for every grid and block; these are merely good ones.
struct Grid {
  unsigned blocks = 1;
  unsigned threads = 128;
};
Grid grid_for_elements(std::int64_t n);                       // each_in_grid: an element a thread
Grid grid_for_rows(std::int64_t rows, std::int64_t columns);  // each_block over rows, each_thread over columns

template <typename... Parameters, typename... Arguments>
void launch(const Stream& stream, const char* name, Cost cost, Grid grid, void (*kernel)(Parameters...), Arguments&&... arguments) {
  const DeviceGuard guard(stream.device());
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(grid.blocks);
  config.blockDim = dim3(grid.threads);
  config.stream = stream.get();
  annotate_next_launch(name, cost);
  LOCKSTEP_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace lockstep
