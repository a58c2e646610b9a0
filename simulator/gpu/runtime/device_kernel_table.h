// Which device code belongs to a function of the host. Looked up once for each.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "simulator/gpu/runtime/device_kernel.h"

namespace lockstep::sim {

class DeviceKernelTable {
 public:
  explicit DeviceKernelTable(std::shared_ptr<const DeviceKernels> kernels) : kernels_(std::move(kernels)) {}
  void set(std::shared_ptr<const DeviceKernels> kernels);
  std::shared_ptr<const DeviceKernel> find(void (*function)());  // null, and a sentence on stderr, where there is none

 private:
  std::mutex mutex_;
  std::shared_ptr<const DeviceKernels> kernels_;
  std::unordered_map<void (*)(), std::shared_ptr<const DeviceKernel>> found_;
};

}  // namespace lockstep::sim
