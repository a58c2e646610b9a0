// Modules that a program loads while it runs: what CUmodule and CUfunction point to.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "simulator/gpu/runtime/device_kernel.h"

struct CUfunc_st {
  CUmod_st* module = nullptr;
  std::string name;
  bool counted = false;
  std::shared_ptr<const lockstep::sim::DeviceKernel> last;  // the last launch that is counted
};

struct CUmod_st {
  int device = 0;
  std::shared_ptr<const lockstep::sim::DeviceModule> code;
  std::map<std::string, CUfunc_st> functions;  // that were asked for; they do not move
};

namespace lockstep::sim {

// All loaded modules of the process. Handles that are not of it are refused.
class DriverModules {
 public:
  DriverModules() = default;
  ~DriverModules();
  DriverModules(const DriverModules&) = delete;
  DriverModules& operator=(const DriverModules&) = delete;

  CUresult load(const char* image, CUmodule* out, std::string* problem);
  CUresult unload(CUmodule module);
  CUresult find(CUmodule module, const char* name, CUfunction* out);
  CUresult launch(CUfunction function, const cudaLaunchConfig_t& config, void** arguments);

  bool count(const void* function);
  std::vector<CountedLine> last_counts(const void* function);

 private:
  static bool have_ended();
  CUfunc_st* known(const void* function);

  std::mutex mutex_;
  std::unordered_map<const CUmod_st*, std::unique_ptr<CUmod_st>> modules_;
  std::unordered_map<const void*, CUfunc_st*> functions_;
};
DriverModules& driver_modules();

}  // namespace lockstep::sim
