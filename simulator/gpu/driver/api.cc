// CUDA driver: loading and launching modules. What each call promises is NVIDIA's documentation.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <backend/driver.h>
#include "simulator/gpu/driver/modules.h"
#include "simulator/gpu/runtime/runtime.h"

using lockstep::sim::driver_modules;

namespace {

// Into the caller's log, if there is one; else on stderr.
void write_log(const std::string& problem, unsigned count, const CUjit_option* options, void** values) {
  char* buffer = nullptr;
  std::size_t bytes = 0;
  for (unsigned i = 0; options != nullptr && values != nullptr && i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) bytes = reinterpret_cast<std::uintptr_t>(values[i]);
  }
  if (buffer == nullptr || bytes == 0) {
    if (!problem.empty()) std::fprintf(stderr, "virtual GPU: %s\n", problem.c_str());
    return;
  }
  const std::size_t length = std::min(problem.size(), bytes - 1);
  std::copy_n(problem.data(), length, buffer);
  buffer[length] = '\0';
}

}  // namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues) {
  std::string problem;
  const CUresult status = driver_modules().load(static_cast<const char*>(image), module, &problem);
  write_log(problem, numOptions, options, optionValues);
  return status;
}

CUresult cuModuleUnload(CUmodule hmod) { return driver_modules().unload(hmod); }

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) { return driver_modules().find(hmod, name, hfunc); }

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
                        unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
                        void** extra) {
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;  // arguments packed by the caller
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(gridDimX, gridDimY, gridDimZ);
  config.blockDim = dim3(blockDimX, blockDimY, blockDimZ);
  config.dynamicSmemBytes = sharedMemBytes;
  config.stream = hStream;
  return driver_modules().launch(f, config, kernelParams);
}
}

namespace lockstep {

void* driver_function(const char* name, std::string* problem) {
  struct Entry {
    const char* name;
    void* function;
  };
  static const Entry kFunctions[] = {{"cuGetErrorName", reinterpret_cast<void*>(&cuGetErrorName)},
                                     {"cuGetErrorString", reinterpret_cast<void*>(&cuGetErrorString)},
                                     {"cuModuleLoadDataEx", reinterpret_cast<void*>(&cuModuleLoadDataEx)},
                                     {"cuModuleUnload", reinterpret_cast<void*>(&cuModuleUnload)},
                                     {"cuModuleGetFunction", reinterpret_cast<void*>(&cuModuleGetFunction)},
                                     {"cuLaunchKernel", reinterpret_cast<void*>(&cuLaunchKernel)}};
  for (const Entry& entry : kFunctions) {
    if (name == std::string_view(entry.name)) return entry.function;
  }
  *problem = std::string("The virtual GPU has no ") + name + ".";
  return nullptr;
}

bool count_launches(const void* function) { return driver_modules().count(function); }
std::vector<CountedLine> last_counts(const void* function) { return driver_modules().last_counts(function); }
std::string fault_of_device(int device) { return sim::runtime().executor.failure(device); }

}  // namespace lockstep
