#include "simulator/gpu/runtime/runtime.h"

#include <cstdio>
#include <utility>

#include "simulator/gpu/runtime/checker.h"

namespace lockstep::sim {

namespace {

constinit thread_local int device_of_thread = 0;
constinit thread_local cudaError_t last_error = cudaSuccess;
constinit std::atomic<bool> unloading{false};

// Not destroyed: destructors of other static objects may still call CUDA functions, which then return cudaErrorCudartUnloading.
union Forever {
  Forever() : runtime() {}
  ~Forever() {}
  Runtime runtime;
};

struct StopAtExit {
  Runtime& runtime;
  explicit StopAtExit(Runtime& r) : runtime(r) {}
  ~StopAtExit() {
    unloading.store(true);
    runtime.executor.stop();
  }
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;
};

// The calling thread's own streams, made when it first asks for one.
class OwnStreams {
 public:
  OwnStreams() = default;
  ~OwnStreams() {
    if (unloading.load(std::memory_order_relaxed)) return;
    for (Stream* stream : streams_) {
      if (stream != nullptr) runtime().executor.destroy_stream(stream);
    }
  }
  OwnStreams(const OwnStreams&) = delete;
  OwnStreams& operator=(const OwnStreams&) = delete;

  Stream* on(int device) {
    streams_.resize(static_cast<std::size_t>(runtime().devices()));
    Stream*& stream = streams_[static_cast<std::size_t>(device)];
    if (stream == nullptr) stream = runtime().executor.create_stream(device, cudaStreamDefault, false);
    return stream;
  }

 private:
  std::vector<Stream*> streams_;
};

}  // namespace

Runtime::Runtime()
    : config(sim::config()),
      device_kernels(config.kernels == KernelMode::ptx ? load_device_kernels(config.ptx_folder, &config.problem) : nullptr),
      checker(config.check ? make_checker(config.check, std::chrono::milliseconds(config.check_grace_ms)) : nullptr),
      memory(config.problem.empty() ? config.machine.gpus : 0, config.machine.memory_bytes, checker.get()),
      peers(static_cast<std::size_t>(config.machine.gpus) * static_cast<std::size_t>(config.machine.gpus)),
      kernels(config.kernels),
      executor(config.problem.empty() ? config.machine.gpus : 0, config.workers, config.seed, checker.get()) {
  if (!config.problem.empty()) {
    std::fprintf(stderr, "virtual GPU: %s\n", config.problem.c_str());
  } else if (!config.faults.empty()) {
    arm_faults(config.faults);
  }
}

Runtime::~Runtime() = default;

Runtime& runtime() {
  static Forever forever;
  static const StopAtExit stop(forever.runtime);
  return forever.runtime;
}

const AddressMap& address_map() { return runtime().memory.map(); }

int current_device() { return device_of_thread; }
void set_current_device(int device) { device_of_thread = device; }

cudaError_t remember(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

cudaError_t ready_to_call() {
  if (unloading.load(std::memory_order_relaxed)) return cudaErrorCudartUnloading;
  if (on_worker_thread()) return cudaErrorNotPermitted;
  const Runtime& here = runtime();
  if (!here.config.problem.empty()) return cudaErrorInitializationError;
  return here.devices() == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t ready_to_use_device() {
  const cudaError_t status = ready_to_call();
  return status != cudaSuccess ? status : runtime().executor.error(current_device());
}

Stream* stream_behind(cudaStream_t handle) {
  Executor& executor = runtime().executor;
  if (handle == nullptr || handle == cudaStreamLegacy) return executor.legacy_stream(current_device());
  if (handle == cudaStreamPerThread) {
    thread_local OwnStreams own;
    return own.on(current_device());
  }
  return executor.valid(handle) ? handle : nullptr;
}

void set_schedule_seed(std::uint64_t seed) { runtime().executor.set_seed(seed); }
std::uint64_t schedule_seed() { return runtime().executor.seed(); }
void set_kernel_mode(KernelMode mode) { runtime().kernels = mode; }
KernelMode kernel_mode() { return runtime().kernels; }
void set_device_kernels(std::shared_ptr<const DeviceKernels> kernels) { runtime().device_kernels.set(std::move(kernels)); }

Counters counters() {
  const Runtime& here = runtime();
  Counters counters;
  counters.operations = here.executor.operations();
  counters.live_allocations = here.memory.live_blocks();
  for (int d = 0; d < here.devices(); ++d) counters.live_device_bytes += here.memory.used(d);
  counters.live_host_allocations = here.memory.live_host_blocks();
  counters.live_streams = here.executor.live_streams();
  counters.live_events = here.executor.live_events();
  return counters;
}

void wait_for_all_devices() {
  for (int d = 0; d < runtime().devices(); ++d) runtime().executor.wait_device(d);
}

void clear_device_errors() {
  wait_for_all_devices();
  runtime().executor.clear_errors();
  last_error = cudaSuccess;
}

}  // namespace lockstep::sim

using namespace lockstep::sim;

extern "C" {

cudaError_t cudaPeekAtLastError(void) {
  if (last_error != cudaSuccess) return last_error;
  if (on_worker_thread() || ready_to_call() != cudaSuccess) return cudaSuccess;
  return runtime().executor.error(current_device());
}

cudaError_t cudaGetLastError(void) {
  const cudaError_t status = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return status;
}
}
