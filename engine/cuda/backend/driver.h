// CUDA twin of simulator/gpu/backend/driver.h: NVIDIA's driver, in libcuda.so.1.
#pragma once

#include <dlfcn.h>

#include <string>

namespace lockstep {

inline void* driver_function(const char* name, std::string* problem) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE);  // the runtime has loaded it already
  void* const function = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (driver == nullptr) {
    *problem = "libcuda.so.1 can't be loaded: NVIDIA's driver is not installed on this machine.";
  } else if (function == nullptr) {
    *problem = std::string("libcuda.so.1 has no ") + name + ": the driver is too old.";
  }
  return function;
}

}  // namespace lockstep
