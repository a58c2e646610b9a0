// What liblockstep_kernel_ptx.so shows: the engine's kernels from the PTX files beside it, for LOCKSTEP_SIM_KERNELS=ptx.
#include <dlfcn.h>

#include <filesystem>

#include "simulator/gpu/modules/ptx_modules.h"
#include "simulator/gpu/ptx/error.h"

extern "C" void lockstep_load_device_kernels(const char* folder, std::shared_ptr<const lockstep::sim::DeviceKernels>* kernels,
                                             std::string* problem) {
  std::string from = folder;
  if (from.empty()) {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&lockstep_load_device_kernels), &here);
    from = std::filesystem::path(here.dli_fname).parent_path() / "kernel_ptx";
  }
  try {
    *kernels = std::make_shared<const lockstep::sim::PtxModules>(from);
  } catch (const lockstep::ptx::Error& error) {
    *problem = std::string("LOCKSTEP_SIM_KERNELS=ptx: ") + error.what();
  }
}
