// Catches launches. The linker sends calls of sim::launch here (--wrap), so neither kernels nor their cases know of it.
#include "tests/simulator/gpu/ptx/support/ptx_launch.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/device/launch.h"
#include "lockstep/error.h"

extern "C" cudaError_t __real__ZN8lockstep3sim6launchEPK19cudaLaunchConfig_stPFvvERKNS0_9SignatureEPKSt4byte(  // NOLINT
    const cudaLaunchConfig_t* config, void (*kernel)(), const lockstep::sim::Signature& signature, const std::byte* packed);

namespace lockstep::testing {

namespace {

struct Present {
  const KernelModules* modules = nullptr;
  ptx::Counts* counts = nullptr;
  int launches = 0;
};
Present present;  // of the one thread that runs tests

}  // namespace

void KernelModules::load(const std::string& text) { modules_.emplace_back(text); }

void KernelModules::load_all() {
  for (const std::string& file : kernel_ptx_files()) load(kernel_ptx_text(file));
}

KernelModules::Found KernelModules::find(const std::string& mangled) const {
  for (const ptx::Module& module : modules_) {
    if (const ptx::Code* kernel = module.kernel(mangled)) return {&module, kernel};
  }
  return {};
}

std::vector<std::string> KernelModules::names() const {
  std::vector<std::string> all;
  for (const ptx::Module& module : modules_) {
    for (const std::string& name : module.kernels()) all.push_back(name);
  }
  return all;
}

#ifdef LOCKSTEP_KERNEL_PTX
bool has_kernel_ptx() { return true; }
std::vector<std::string> kernel_ptx_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_KERNEL_PTX)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
#else
bool has_kernel_ptx() { return false; }
std::vector<std::string> kernel_ptx_files() { return {}; }
#endif

std::string kernel_ptx_text(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

LaunchFromPtx::LaunchFromPtx(const KernelModules& modules, ptx::Counts* counts) { present = {&modules, counts, 0}; }
LaunchFromPtx::~LaunchFromPtx() { present = {}; }
int LaunchFromPtx::launches() { return present.launches; }

}  // namespace lockstep::testing

extern "C" cudaError_t __wrap__ZN8lockstep3sim6launchEPK19cudaLaunchConfig_stPFvvERKNS0_9SignatureEPKSt4byte(  // NOLINT
    const cudaLaunchConfig_t* config, void (*kernel)(), const lockstep::sim::Signature& signature, const std::byte* packed) {
  using lockstep::testing::present;
  if (present.modules == nullptr)
    return __real__ZN8lockstep3sim6launchEPK19cudaLaunchConfig_stPFvvERKNS0_9SignatureEPKSt4byte(config, kernel, signature, packed);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(kernel), &info) == 0 || info.dli_sname == nullptr)
    throw lockstep::Error("A kernel without a name was launched.");
  const auto found = present.modules->find(info.dli_sname);
  if (found.kernel == nullptr) throw lockstep::Error(std::string("No PTX of kernel ") + info.dli_sname + ".");
  // Whatever is still on its way to the memory that the kernel reads.
  if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) return status;
  lockstep::ptx::Launch launch;
  launch.grid = {config->gridDim.x, config->gridDim.y, config->gridDim.z};
  launch.block = {config->blockDim.x, config->blockDim.y, config->blockDim.z};
  launch.parameters = std::span(packed, signature.bytes);
  launch.counts = present.counts;
  lockstep::ptx::launch(*found.module, *found.kernel, launch);
  ++present.launches;
  return cudaSuccess;
}
