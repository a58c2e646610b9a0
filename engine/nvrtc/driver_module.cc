#include "engine/nvrtc/driver_module.h"

#include <cuda_runtime.h>

#include <cstdint>

#include <backend/driver.h>
#include "engine/device/check.h"
#include "engine/device/stream.h"
#include "lockstep/error.h"

namespace lockstep {

namespace {

// By its type and name: driver<decltype(&cuModuleUnload)>("cuModuleUnload").
template <typename Function>
Function driver(const char* name) {
  std::string problem;
  void* const function = driver_function(name, &problem);
  if (function == nullptr) throw Error("A kernel can't be loaded: " + problem);
  return reinterpret_cast<Function>(function);
}

}  // namespace

std::string driver_status_text(CUresult status) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver<decltype(&cuGetErrorName)>("cuGetErrorName")(status, &name);
  driver<decltype(&cuGetErrorString)>("cuGetErrorString")(status, &text);
  if (name == nullptr) return "status " + std::to_string(static_cast<int>(status));
  return std::string(name) + (text != nullptr ? std::string(" (") + text + ")" : "");
}

DriverModule::DriverModule(int device, const std::string& ptx) : device_(device) {
  const DeviceGuard guard(device);
  LOCKSTEP_CHECK(cudaFree(nullptr));  // the driver's calls are for the context that the runtime's first call makes
  std::string log(4096, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(std::uintptr_t{log.size()})};
  const CUresult status = driver<decltype(&cuModuleLoadDataEx)>("cuModuleLoadDataEx")(&module_, ptx.c_str(), 2, options, values);
  if (status == CUDA_SUCCESS) return;
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  throw Error("A kernel can't be loaded on GPU " + std::to_string(device) + ": " + driver_status_text(status) +
              (log.empty() ? "." : ". " + log));
}

DriverModule::~DriverModule() {
  std::string problem;
  auto* const unload = reinterpret_cast<decltype(&cuModuleUnload)>(driver_function("cuModuleUnload", &problem));
  int previous = 0;
  if (unload == nullptr || cudaGetDevice(&previous) != cudaSuccess || cudaSetDevice(device_) != cudaSuccess) return;  // the program ends
  static_cast<void>(unload(module_));
  static_cast<void>(cudaSetDevice(previous));
}

CUfunction DriverModule::function(const std::string& symbol) const {
  CUfunction found = nullptr;
  const CUresult status = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&found, module_, symbol.c_str());
  if (status != CUDA_SUCCESS) throw Error("The module has no kernel '" + symbol + "': " + driver_status_text(status) + ".");
  return found;
}

CUresult driver_launch(CUfunction function, const DriverLaunch& launch, void** arguments) {
  return driver<decltype(&cuLaunchKernel)>("cuLaunchKernel")(function, launch.grid[0], launch.grid[1], launch.grid[2], launch.block[0],
                                                             launch.block[1], launch.block[2], launch.shared_bytes, launch.stream,
                                                             arguments, nullptr);
}

}  // namespace lockstep
