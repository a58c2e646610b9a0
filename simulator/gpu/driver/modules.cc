#include "simulator/gpu/driver/modules.h"

#include <atomic>
#include <cstring>

#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

namespace {

// The runtime's statuses have the driver's numbers, but for what the driver does not tell apart.
CUresult driver_status(cudaError_t status) {
  switch (status) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorMissingConfiguration:
      return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
      return CUDA_ERROR_INVALID_HANDLE;
    default:
      return static_cast<CUresult>(status);
  }
}

constexpr std::size_t kSharedWithoutOptIn = 48 << 10;

// Objects of the program that live as long as it does may unload their modules after the table of modules is gone.
std::atomic<bool> gone{false};

}  // namespace

CUresult DriverModules::load(const char* image, CUmodule* out, std::string* problem) {
  if (image == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const cudaError_t status = ready_to_use_device()) return driver_status(status);
  constexpr char kElf[] =
      "\x7f"
      "ELF",
                 kFatBinary[] = "\x50\xed\x55\xba";
  if (std::memcmp(image, kElf, 4) == 0 || std::memcmp(image, kFatBinary, 4) == 0) {
    *problem =
        "The virtual GPU loads modules as text of PTX; this one is machine code or a fat binary. Fix: nvrtcGetPTX in place of "
        "nvrtcGetCUBIN.";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  auto made = std::make_unique<CUmod_st>();
  made->device = current_device();
  made->code = load_device_module(image, problem);
  if (made->code == nullptr) return CUDA_ERROR_INVALID_PTX;
  for (const DeviceModule::Bytes& bytes : made->code->memory()) runtime().memory.adopt(made->device, bytes.data, bytes.count);
  const std::lock_guard lock(mutex_);
  *out = made.get();
  modules_[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult DriverModules::unload(CUmodule module) {
  if (have_ended()) return CUDA_ERROR_DEINITIALIZED;
  if (const cudaError_t status = ready_to_call()) return driver_status(status);
  std::unique_ptr<CUmod_st> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = modules_.find(module);
    if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
    ended = std::move(found->second);
    modules_.erase(found);
    for (const auto& [name, function] : ended->functions) functions_.erase(&function);
  }
  runtime().executor.wait_device(ended->device);  // its kernels may still run
  for (const DeviceModule::Bytes& bytes : ended->code->memory()) runtime().memory.disown(bytes.data);
  return CUDA_SUCCESS;
}

CUresult DriverModules::find(CUmodule module, const char* name, CUfunction* out) {
  if (name == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (!found->second->code->has(name)) return CUDA_ERROR_NOT_FOUND;
  CUfunc_st& function = found->second->functions[name];
  function.module = module;
  function.name = name;
  functions_[&function] = &function;
  *out = &function;
  return CUDA_SUCCESS;
}

CUfunc_st* DriverModules::known(const void* function) {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : found->second;
}

CUresult DriverModules::launch(CUfunction function, const cudaLaunchConfig_t& config, void** arguments) {
  if (const cudaError_t status = ready_to_use_device()) return driver_status(status);
  std::shared_ptr<const DeviceKernel> kernel;
  std::vector<std::byte> packed;
  {
    const std::lock_guard lock(mutex_);
    CUfunc_st* const here = known(function);
    if (here == nullptr || here->module->device != current_device()) return CUDA_ERROR_INVALID_HANDLE;
    const DeviceModule& code = *here->module->code;
    if (config.dynamicSmemBytes + code.static_shared_bytes(here->name) > kSharedWithoutOptIn) return CUDA_ERROR_INVALID_VALUE;
    kernel = code.kernel(here->name, here->counted);
    packed.resize(kernel->argument_bytes());
    const std::vector<DeviceModule::Parameter> parameters = code.parameters(here->name);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (arguments == nullptr || arguments[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      std::memcpy(packed.data() + parameters[i].offset, arguments[i], parameters[i].bytes);
    }
    if (here->counted) here->last = kernel;
  }
  return driver_status(sim::launch(config, std::move(kernel), packed));
}

bool DriverModules::count(const void* function) {
  const std::lock_guard lock(mutex_);
  CUfunc_st* const here = known(function);
  if (here != nullptr) here->counted = true;
  return here != nullptr;
}

std::vector<CountedLine> DriverModules::last_counts(const void* function) {
  const std::lock_guard lock(mutex_);
  const CUfunc_st* const here = known(function);
  return here == nullptr || here->last == nullptr ? std::vector<CountedLine>{} : here->last->counted();
}

DriverModules& driver_modules() {
  static DriverModules all;
  return all;
}

DriverModules::~DriverModules() { gone = true; }
bool DriverModules::have_ended() { return gone; }

}  // namespace lockstep::sim
