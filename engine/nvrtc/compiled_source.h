// A source that NVRTC has compiled, and its kernels on each GPU that has launched one.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/nvrtc/driver_module.h"
#include "engine/nvrtc/kernel_signature.h"
#include "lockstep/cuda_kernel.h"

namespace lockstep {

class CompiledSource {
 public:
  // Throws an Error: the compiler's messages, or the kernels that there are where one of the names is not.
  CompiledSource(const std::string& source, const std::vector<std::string>& names, const CudaOptions& options);

  const std::string& file() const { return file_; }
  const std::string& ptx() const { return ptx_; }
  const KernelSignature& kernel(const std::string& name) const;  // throws an Error for one that was not asked for

  // The kernel on this GPU; loaded when it is first asked for. While the lock is held no other launch of this source runs there.
  struct OnDevice {
    std::mutex launching;
    std::unique_ptr<const DriverModule> module;
  };
  OnDevice& on(int device) const;

 private:
  std::string file_, ptx_;
  std::map<std::string, KernelSignature> kernels_;
  mutable std::mutex mutex_;
  mutable std::map<int, OnDevice> devices_;
};

}  // namespace lockstep
