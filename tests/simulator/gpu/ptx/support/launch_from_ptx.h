// The engine's kernels as nvcc made them, and launches that run from them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/gpu/modules/ptx_modules.h"
#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/runtime/control.h"

namespace lockstep::testing {

#ifdef LOCKSTEP_KERNEL_PTX
inline constexpr bool kHasKernelPtx = true;
inline constexpr char kKernelPtx[] = LOCKSTEP_KERNEL_PTX;
#else
inline constexpr bool kHasKernelPtx = false;
inline constexpr char kKernelPtx[] = "";
#endif

inline std::shared_ptr<const sim::PtxModules> kernel_modules(ptx::Counts* counts = nullptr) {
  return std::make_shared<const sim::PtxModules>(kKernelPtx, counts);
}

inline std::vector<std::string> kernel_ptx_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kKernelPtx)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}
inline std::string kernel_ptx_text(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// While it lives launches run from these modules.
class LaunchFromPtx {
 public:
  explicit LaunchFromPtx(std::shared_ptr<const sim::PtxModules> modules) : before_(sim::kernel_mode()) {
    sim::set_device_kernels(std::move(modules));
    sim::set_kernel_mode(sim::KernelMode::ptx);
  }
  ~LaunchFromPtx() {
    sim::wait_for_all_devices();
    sim::set_kernel_mode(before_);
    sim::set_device_kernels(nullptr);
  }
  LaunchFromPtx(const LaunchFromPtx&) = delete;
  LaunchFromPtx& operator=(const LaunchFromPtx&) = delete;

 private:
  sim::KernelMode before_;
};

}  // namespace lockstep::testing
