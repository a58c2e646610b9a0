// The engine's own kernels through the PTX machine: launches of the kernel table are caught and run from nvcc's PTX.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/counts.h"
#include "simulator/gpu/ptx/machine.h"

namespace lockstep::testing {

// Modules that nvcc made of engine/kernels. Empty where there was no nvcc.
class KernelModules {
 public:
  // `changed` names a kernel in whose PTX `from` becomes `to`, once.
  KernelModules() = default;
  void load_all();
  void load(const std::string& text);

  struct Found {
    const ptx::Module* module = nullptr;
    const ptx::Code* kernel = nullptr;
  };
  Found find(const std::string& mangled) const;
  int modules() const { return static_cast<int>(modules_.size()); }
  std::vector<std::string> names() const;

 private:
  std::vector<ptx::Module> modules_;
};

// All that nvcc made, and the text of one file.
bool has_kernel_ptx();
std::string kernel_ptx_text(const std::string& file);
std::vector<std::string> kernel_ptx_files();

// While it lives launches run from these modules instead of the library.
class LaunchFromPtx {
 public:
  explicit LaunchFromPtx(const KernelModules& modules, ptx::Counts* counts = nullptr);
  ~LaunchFromPtx();
  LaunchFromPtx(const LaunchFromPtx&) = delete;
  LaunchFromPtx& operator=(const LaunchFromPtx&) = delete;
  static int launches();
};

}  // namespace lockstep::testing
