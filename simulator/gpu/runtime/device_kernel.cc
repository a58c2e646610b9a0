#include "simulator/gpu/runtime/device_kernel.h"

#include <dlfcn.h>

#include <filesystem>

#include "simulator/gpu/runtime/device_kernel_table.h"

namespace lockstep::sim {

namespace {

// By name, where the loader looks; then beside the program, where it is built.
void* open_library() {
  void* library = dlopen(kDeviceKernelLibrary, RTLD_NOW | RTLD_LOCAL);
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  for (const char* folder : {"lib", "../lib", "../../lib"}) {
    if (library == nullptr) library = dlopen((program.parent_path() / folder / kDeviceKernelLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

}  // namespace

std::shared_ptr<const DeviceKernels> load_device_kernels(const std::string& folder, std::string* problem) {
  std::shared_ptr<const DeviceKernels> kernels;
  void* const library = open_library();
  if (library == nullptr) {
    *problem = std::string("LOCKSTEP_SIM_KERNELS=ptx: ") + kDeviceKernelLibrary +
               " can't be loaded: it is built where nvcc is found when configuring, as the target lockstep_kernel_ptx";
    return kernels;
  }
  auto* const load = reinterpret_cast<LoadDeviceKernels*>(dlsym(library, kLoadDeviceKernels));
  if (load == nullptr) {
    *problem = std::string("LOCKSTEP_SIM_KERNELS=ptx: ") + kDeviceKernelLibrary + " is of another version";
    return kernels;
  }
  load(folder.c_str(), &kernels, problem);
  return kernels;
}

void DeviceKernelTable::set(std::shared_ptr<const DeviceKernels> kernels) {
  const std::lock_guard lock(mutex_);
  kernels_ = std::move(kernels);
  found_.clear();
}

std::shared_ptr<const DeviceKernel> DeviceKernelTable::find(void (*function)()) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = found_.try_emplace(function);
  if (!is_new || kernels_ == nullptr) return entry->second;
  Dl_info info{};
  const bool named = dladdr(reinterpret_cast<void*>(function), &info) != 0 && info.dli_sname != nullptr;
  if (named) entry->second = kernels_->find(info.dli_sname);
  if (entry->second == nullptr)
    std::fprintf(stderr, "virtual GPU: LOCKSTEP_SIM_KERNELS=ptx: there is no PTX of kernel '%s'\n",
                 named ? info.dli_sname : "without a name");
  return entry->second;
}

}  // namespace lockstep::sim
