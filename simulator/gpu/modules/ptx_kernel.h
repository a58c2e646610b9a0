// A kernel of a PTX module as the virtual GPU launches it.
#pragma once

#include <memory>
#include <string>

#include "simulator/gpu/ptx/machine.h"
#include "simulator/gpu/runtime/device_kernel.h"

namespace lockstep::sim {

class PtxKernel : public DeviceKernel {
 public:
  // Null where the module has no such kernel. `counts`, where there is one, outlives the kernel and gets what its warps do.
  static std::shared_ptr<const PtxKernel> make(std::shared_ptr<const ptx::Module> module, const std::string& name,
                                               ptx::Counts* counts = nullptr);
  PtxKernel(std::shared_ptr<const ptx::Module> module, const ptx::Code& code, ptx::Counts* counts)
      : module_(std::move(module)), code_(code), counts_(counts) {}

  const ptx::Module& module() const { return *module_; }
  const ptx::Code& code() const { return code_; }
  const std::string& name() const override { return code_.name; }
  std::size_t argument_bytes() const override { return code_.parameter_bytes; }
  bool in_order() const override { return code_.blocks_in_order; }
  cudaError_t check(const DeviceLaunch& launch) const override;
  void run(const DeviceLaunch& launch, std::int64_t first, std::int64_t last) const override;

 private:
  ptx::Launch launch_of(const DeviceLaunch& launch) const;

  std::shared_ptr<const ptx::Module> module_;
  const ptx::Code& code_;
  ptx::Counts* counts_;
};

}  // namespace lockstep::sim
