#include "simulator/gpu/runtime/device_kernel.h"

#include <dlfcn.h>

#include <filesystem>

#include "simulator/gpu/runtime/device_kernel_table.h"

namespace lockstep::sim {

namespace {

// By name, where the loader looks; then beside the library that this code is in (liblockstep.so), or the program, where they are built.
void* open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  std::error_code none;
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&load_device_kernels), &here);
  const auto code = std::filesystem::absolute(here.dli_fname != nullptr ? here.dli_fname : "", none);
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  for (const auto& beside : {code.parent_path(), program.parent_path()}) {
    for (const char* folder : {".", "lib", "../lib", "../../lib"}) {
      if (library == nullptr) library = dlopen((beside / folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  return library;
}

}  // namespace

std::shared_ptr<const DeviceKernels> load_device_kernels(const std::string& folder, std::string* problem) {
  std::shared_ptr<const DeviceKernels> kernels;
  void* const library = open_library(kDeviceKernelLibrary);
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

std::shared_ptr<const DeviceModule> load_device_module(std::string_view text, std::string* problem) {
  std::shared_ptr<const DeviceModule> module;
  void* const library = open_library(kDeviceModuleLibrary);
  auto* const load = library == nullptr ? nullptr : reinterpret_cast<LoadDeviceModule*>(dlsym(library, kLoadDeviceModule));
  if (load == nullptr) {
    *problem =
        std::string(kDeviceModuleLibrary) +
        " can't be loaded, and with it no kernel that is compiled while the program runs. Fix: build the target lockstep_ptx_modules.";
    return module;
  }
  load(text, &module, problem);
  return module;
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
