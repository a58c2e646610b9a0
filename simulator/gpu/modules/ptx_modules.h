// Kernels from a folder of PTX files, found by their mangled names.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/gpu/modules/ptx_kernel.h"

namespace lockstep::sim {

class PtxModules : public DeviceKernels {
 public:
  PtxModules() = default;
  // Throws ptx::Error: the file that can't be read, or the instruction and line.
  explicit PtxModules(const std::string& folder, ptx::Counts* counts = nullptr);
  void add(const std::string& text, ptx::Counts* counts = nullptr);

  std::shared_ptr<const DeviceKernel> find(const std::string& mangled) const override;
  std::vector<std::string> names() const;
  const PtxKernel& kernel(const std::string& mangled) const { return *kernels_.at(mangled); }

 private:
  std::unordered_map<std::string, std::shared_ptr<const PtxKernel>> kernels_;
};

}  // namespace lockstep::sim
