// Kernels whose code is not the host's: what the runtime asks of the rooms that run it.
//
// simulator/gpu/modules implements it for PTX; the runtime has no code of its own for instructions. A launch of such a kernel is a node
// like any other, and its parts are ranges of its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

#include <backend/findings.h>
#include "simulator/gpu/runtime/config.h"
#include "simulator/gpu/runtime/operation.h"

namespace lockstep::sim {

// What a device can reach, by addresses as the program has them.
class Reach {
 public:
  struct Bytes {
    std::uint64_t address = 0, count = 0;
    std::byte* data = nullptr;  // on the host
  };
  virtual ~Reach() = default;
  // The allocation around an address. Without one `why` ends a sentence about the access: "which is not allocated".
  virtual std::optional<Bytes> find(std::uint64_t address, std::string& why) const = 0;
};

// Check mode, around device code that finds out while it runs what it touches.
class AccessChecks {
 public:
  virtual ~AccessChecks() = default;
  virtual bool races() const = 0;
  virtual bool memory() const = 0;
  virtual std::vector<Reach::Bytes> unwritten(std::uint64_t address, std::uint64_t bytes) const = 0;  // of one allocation; without `data`
  // When all blocks are done: what they read and wrote. Throws a Fault: a race with another stream.
  virtual void touched(const std::vector<Touch>& touches) const = 0;
};

struct DeviceLaunch {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  std::span<const std::byte> arguments;
  const Reach* reach = nullptr;          // null: addresses are the host's, and were checked before the launch
  const AccessChecks* checks = nullptr;  // null: check mode is off; else all blocks run in one call
};

class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  virtual const std::string& name() const = 0;
  virtual std::size_t argument_bytes() const = 0;
  virtual bool in_order() const = 0;                                // blocks one after the other, on one thread
  virtual cudaError_t check(const DeviceLaunch& launch) const = 0;  // what this kernel refuses of a launch
  // Blocks first ... last - 1, counted along x, then y, then z. Throws a Fault.
  virtual void run(const DeviceLaunch& launch, std::int64_t first, std::int64_t last) const = 0;
  // What its warps did so far: all of it, then each line of its source. Empty where it is not counted.
  virtual std::vector<CountedLine> counted() const { return {}; }
};

// Device code of kernels that the program knows as functions of the host: what KernelMode::ptx launches.
class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  virtual std::shared_ptr<const DeviceKernel> find(const std::string& mangled) const = 0;  // null where there is none
};
void set_device_kernels(std::shared_ptr<const DeviceKernels> kernels);

// What LOCKSTEP_SIM_KERNELS=ptx loads: liblockstep_kernel_ptx.so has this function. A problem is a sentence for the user.
inline constexpr char kDeviceKernelLibrary[] = "liblockstep_kernel_ptx.so", kLoadDeviceKernels[] = "lockstep_load_device_kernels";
using LoadDeviceKernels = void(const char* folder, std::shared_ptr<const DeviceKernels>* kernels, std::string* problem);
std::shared_ptr<const DeviceKernels> load_device_kernels(const std::string& folder, std::string* problem);

// Code that is loaded while the program runs. It and its kernels know each other's memory, so kernels keep it alive.
class DeviceModule {
 public:
  struct Bytes {
    std::byte* data = nullptr;
    std::size_t count = 0;
  };
  struct Parameter {
    std::size_t offset = 0, bytes = 0;  // in the packed arguments
  };
  virtual ~DeviceModule() = default;
  virtual std::vector<Bytes> memory() const = 0;  // of its variables
  virtual bool has(const std::string& kernel) const = 0;
  virtual std::vector<Parameter> parameters(const std::string& kernel) const = 0;
  virtual std::size_t static_shared_bytes(const std::string& kernel) const = 0;
  // A kernel for one launch, with counts of its own.
  virtual std::shared_ptr<const DeviceKernel> kernel(const std::string& name, bool counted) const = 0;
};

// From PTX, by a library that is loaded when it is first asked for. Null where that fails; then `problem` is a sentence for the user.
inline constexpr char kDeviceModuleLibrary[] = "liblockstep_ptx_modules.so", kLoadDeviceModule[] = "lockstep_load_device_module";
using LoadDeviceModule = void(std::string_view text, std::shared_ptr<const DeviceModule>* module, std::string* problem);
std::shared_ptr<const DeviceModule> load_device_module(std::string_view text, std::string* problem);

// Puts a launch on a stream: the device finds what the kernel touches while it runs. As cudaLaunchKernel, with its statuses.
cudaError_t launch(const cudaLaunchConfig_t& config, std::shared_ptr<const DeviceKernel> kernel, std::span<const std::byte> arguments,
                   Cost cost = {});

}  // namespace lockstep::sim
