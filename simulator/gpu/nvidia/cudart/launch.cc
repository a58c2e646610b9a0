// CUDA runtime: launches by function, and what can be asked of a kernel.
#include "simulator/gpu/nvidia/cudart/launch.h"

#include <algorithm>
#include <cstring>

using namespace lockstep::nvidia;
using lockstep::sim::called;

namespace {

constexpr int kMaxDynamicShared = 8, kPreferredCarveout = 9;  // cudaFuncAttribute

cudaError_t loaded(const void* function, int device, Kernel** kernel, Loaded* out) {
  if (const cudaError_t status = lockstep::sim::ready_to_use_device()) return status;
  *kernel = registry().kernel(function);
  if (*kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  return (*kernel)->image->load((*kernel)->name, device, out);
}

// Without opting in (cudaFuncSetAttribute) a kernel has 48 KiB of shared memory in all.
std::size_t dynamic_limit(const Kernel& kernel, const lockstep::ptx::Code& code) {
  if (kernel.dynamic_shared_limit >= 0) return static_cast<std::size_t>(kernel.dynamic_shared_limit);
  constexpr std::size_t kWithoutOptIn = 48 << 10;
  return kWithoutOptIn - std::min<std::size_t>(kWithoutOptIn, code.static_shared_bytes);
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* function, void** arguments) {
  Kernel* kernel = nullptr;
  Loaded code;
  if (const cudaError_t status = loaded(function, lockstep::sim::current_device(), &kernel, &code)) return status;
  if (config.dynamicSmemBytes > dynamic_limit(*kernel, *code.code)) return cudaErrorInvalidValue;
  std::vector<std::byte> packed(code.code->parameter_bytes);
  for (std::size_t i = 0; i < code.code->parameters.size(); ++i) {
    const lockstep::ptx::Placed& place = code.code->parameters[i];
    if (arguments == nullptr || arguments[i] == nullptr) return cudaErrorInvalidValue;
    std::memcpy(packed.data() + place.offset, arguments[i], place.bytes);
  }
  return lockstep::sim::launch(config, code.kernel, packed);
}

cudaError_t attributes_of(cudaFuncAttributes* out, const void* function) {
  Kernel* kernel = nullptr;
  Loaded code;
  if (out == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t status = loaded(function, lockstep::sim::current_device(), &kernel, &code)) return status;
  *out = {};
  const auto& machine = lockstep::sim::runtime().config.machine;
  out->sharedSizeBytes = code.code->static_shared_bytes;
  out->localSizeBytes = code.code->stack_bytes;
  out->maxThreadsPerBlock = code.code->most_threads > 0 ? static_cast<int>(code.code->most_threads) : 1024;
  out->numRegs = 32;  // ptxas decides that on a GPU; nothing here depends on it
  out->ptxVersion = out->binaryVersion = machine.major * 10 + machine.minor;
  out->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_limit(*kernel, *code.code));
  out->preferredShmemCarveout = -1;
  return cudaSuccess;
}

cudaError_t set_attribute(const void* function, int attribute, int value) {
  Kernel* kernel = nullptr;
  Loaded code;
  if (const cudaError_t status = loaded(function, lockstep::sim::current_device(), &kernel, &code)) return status;
  if (attribute == kPreferredCarveout) return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
  if (attribute != kMaxDynamicShared) return cudaErrorNotSupported;
  const auto most = static_cast<std::int64_t>(lockstep::sim::runtime().config.machine.shared_optin);
  if (value < 0 || value + static_cast<std::int64_t>(code.code->static_shared_bytes) > most) return cudaErrorInvalidValue;
  kernel->dynamic_shared_limit = value;
  return cudaSuccess;
}

// By threads and shared memory; registers are not modelled.
cudaError_t blocks_per_multiprocessor(int* blocks, const void* function, int threads, std::size_t dynamic_shared) {
  Kernel* kernel = nullptr;
  Loaded code;
  if (blocks == nullptr || threads <= 0) return cudaErrorInvalidValue;
  if (const cudaError_t status = loaded(function, lockstep::sim::current_device(), &kernel, &code)) return status;
  const auto& machine = lockstep::sim::runtime().config.machine;
  const int warps = (threads + 31) / 32;
  const std::size_t shared = code.code->static_shared_bytes + dynamic_shared;
  *blocks = 0;
  if (threads > 1024 || shared > machine.shared_optin) return cudaSuccess;
  *blocks = std::min(machine.threads_per_multiprocessor / 32 / warps, machine.threads_per_multiprocessor / 64);
  if (shared > 0) *blocks = std::min(*blocks, static_cast<int>(static_cast<std::size_t>(machine.shared_per_multiprocessor) / shared));
  return cudaSuccess;
}

cudaError_t get_kernel(cudaKernel_t* out, const void* function) {
  if (out == nullptr) return cudaErrorInvalidValue;
  *out = reinterpret_cast<cudaKernel_t>(registry().kernel(function));
  return *out != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

}  // namespace

extern "C" {

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entryFuncAddr) {
  return called(__func__, [&] { return get_kernel(kernel, entryFuncAddr); });
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return called(__func__, [&] { return get_kernel(reinterpret_cast<cudaKernel_t*>(function), symbol); });
}

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream) {
  const cudaLaunchConfig_t config{gridDim, blockDim, sharedMem, stream, nullptr, 0};
  return called(__func__, [&] { return launch(config, func, args); });
}
cudaError_t cudaLaunchKernel_ptsz(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream) {
  return cudaLaunchKernel(func, gridDim, blockDim, args, sharedMem, stream == nullptr ? cudaStreamPerThread : stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
  return called(__func__, [&] { return config == nullptr ? cudaErrorInvalidValue : launch(*config, func, args); });
}

// All blocks of a cooperative launch run at once and may wait for each other. Here blocks run one after the other, so only one block can.
cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream) {
  const cudaLaunchConfig_t config{gridDim, blockDim, sharedMem, stream, nullptr, 0};
  return called(__func__, [&] {
    if (std::uint64_t{gridDim.x} * gridDim.y * gridDim.z == 1) return launch(config, func, args);
    say("cudaLaunchCooperativeKernel with more than one block is not supported: blocks can't wait for each other.");
    return cudaErrorNotSupported;
  });
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* attr, const void* func) {
  return called(__func__, [&] { return attributes_of(attr, func); });
}
cudaError_t cudaFuncSetAttribute(const void* func, int attr, int value) {
  return called(__func__, [&] { return set_attribute(func, attr, value); });
}
cudaError_t cudaFuncSetCacheConfig(const void* func, int) {
  return called(__func__, [&] { return registry().kernel(func) != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction; });
}
cudaError_t cudaFuncGetName(const char** name, const void* func) {
  return called(__func__, [&] {
    const Kernel* const kernel = registry().kernel(func);
    if (name == nullptr || kernel == nullptr) return name == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction;
    *name = kernel->name.c_str();
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize) {
  return called(__func__, [&] { return blocks_per_multiprocessor(numBlocks, func, blockSize, dynamicSMemSize); });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize,
                                                                   unsigned int) {
  return called(__func__, [&] { return blocks_per_multiprocessor(numBlocks, func, blockSize, dynamicSMemSize); });
}
}
