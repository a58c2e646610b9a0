// enqueue and its relatives, and kernel launches, which fill a node directly.
#include "simulator/gpu/runtime/operation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <backend/context.h>
#include "simulator/gpu/runtime/model_clock.h"
#include "simulator/gpu/runtime/runtime.h"

namespace lockstep::sim {

std::shared_ptr<Gate> make_gate(int expected, std::string name) {
  auto gate = std::make_shared<Gate>();
  gate->expected = expected;
  gate->name = std::move(name);
  return gate;
}

void open_gate(const std::shared_ptr<Gate>& gate) { runtime().executor.open(*gate); }

namespace {

// The stream to use, or why not.
std::pair<Stream*, cudaError_t> usable(cudaStream_t handle) {
  if (const cudaError_t status = ready_to_call()) return {nullptr, status};
  Stream* const stream = stream_behind(handle);
  if (stream == nullptr) return {nullptr, cudaErrorInvalidResourceHandle};
  return {stream, runtime().executor.error(stream->device)};
}

bool valid_configuration(const cudaLaunchConfig_t& config) {
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return false;
  if (grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535) return false;
  if (block.x > 1024 || block.y > 1024 || block.z > 64) return false;
  return static_cast<std::uint64_t>(block.x) * block.y * block.z <= 1024;
}

Cost cost_of_views(const Signature& signature, const std::byte* packed) {
  Cost cost;
  for (int i = 0; i < signature.count; ++i) {
    const Argument& argument = signature.arguments[i];
    if (argument.kind == ArgumentKind::value) continue;
    AnyView view;
    std::memcpy(static_cast<void*>(&view), packed + argument.offset, sizeof(view));
    cost.bytes += static_cast<double>(view.count) * argument.element;
  }
  return cost;
}

// What any launch needs; its stream, or why not.
std::pair<Stream*, cudaError_t> launchable(const cudaLaunchConfig_t* config) {
  if (const cudaError_t status = ready_to_use_device()) return {nullptr, status};
  if (config == nullptr) return {nullptr, cudaErrorInvalidValue};
  if (!valid_configuration(*config)) return {nullptr, cudaErrorInvalidConfiguration};
  if (config->dynamicSmemBytes > runtime().config.machine.shared_optin) return {nullptr, cudaErrorInvalidValue};
  if (config->numAttrs != 0) return {nullptr, cudaErrorNotSupported};
  Stream* const stream = stream_behind(config->stream);
  if (stream == nullptr || stream->device != current_device()) return {nullptr, cudaErrorInvalidResourceHandle};
  return {stream, cudaSuccess};
}

// The node's call knows by now what is launched.
cudaError_t submit_call(Stream* stream, const cudaLaunchConfig_t& config, Node* node, const std::byte* packed) {
  Runtime& here = runtime();
  KernelCall& call = node->kernel;
  call.grid = config.gridDim;
  call.block = config.blockDim;
  call.shared_bytes = config.dynamicSmemBytes;
  call.pack(packed);
  // No more parts than blocks: a grid of one block stays one.
  const auto blocks = static_cast<std::int64_t>(call.grid.x) * call.grid.y * call.grid.z;
  int most = call.mode == KernelMode::fast ? parts_for(call.cost) : here.config.workers;
  if (call.code != nullptr) {
    const DeviceLaunch launch{call.grid, call.block, call.shared_bytes, {packed, call.bytes()}};
    if (const cudaError_t status = call.code->check(launch)) {
      here.executor.put_back(node);
      return status;
    }
    if (call.code->in_order() || watches_accesses(here.config.check)) most = 1;
  }
  node->parts = static_cast<int>(std::min<std::int64_t>(most, blocks));
  return submit(stream, node);
}

cudaError_t launch_on(const cudaLaunchConfig_t* config, void (*kernel)(), const Signature& signature, const std::byte* packed,
                      const LaunchNote& note) {
  const auto [stream, status] = launchable(config);
  if (status != cudaSuccess) return status;
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  Runtime& here = runtime();
  const KernelMode mode = here.kernels.load(std::memory_order_relaxed);
  std::shared_ptr<const DeviceKernel> code;
  if (mode == KernelMode::ptx && (code = here.device_kernels.find(kernel)) == nullptr) return cudaErrorInvalidDeviceFunction;
  Node* const node = here.executor.take_node(NodeKind::kernel);
  KernelCall& call = node->kernel;
  call.kernel = kernel;
  call.signature = &signature;
  call.name = note.name;
  call.cost = note.name != nullptr ? note.cost : cost_of_views(signature, packed);
  call.mode = mode;
  call.code = std::move(code);
  return submit_call(stream, *config, node, packed);
}

cudaError_t launch_code(const cudaLaunchConfig_t& config, std::shared_ptr<const DeviceKernel> code, std::span<const std::byte> arguments,
                        const Cost& cost) {
  static constexpr Signature kNoViews{};
  const auto [stream, status] = launchable(&config);
  if (status != cudaSuccess) return status;
  if (code == nullptr) return cudaErrorInvalidDeviceFunction;
  if (arguments.size() != code->argument_bytes()) return cudaErrorInvalidValue;
  Node* const node = runtime().executor.take_node(NodeKind::kernel);
  KernelCall& call = node->kernel;
  call.kernel = nullptr;
  call.signature = &kNoViews;
  call.name = code->name().c_str();
  call.cost = cost;
  call.mode = KernelMode::ptx;
  call.code = std::move(code);
  return submit_call(stream, config, node, arguments.data());
}

}  // namespace

cudaError_t submit(Stream* stream, Node* node) {
  Runtime& here = runtime();
  if (here.captures.any()) {
    cudaError_t status = cudaSuccess;
    if (here.captures.take(stream, *node, &status)) {
      here.executor.put_back(node);
      return status;
    }
  }
  if (faults_armed.load(std::memory_order_relaxed) && node->kind != NodeKind::gate) {
    const OperationFault fault = planned_operation_fault(stream->device);
    node->planned = fault.error;
    if (fault.hang || fault.stall_ms > 0) {
      Node* const stop = here.executor.take_node(NodeKind::gate);
      stop->gate = make_gate(kOpenedFromOutside, "stall");
      open_after(stop->gate, fault);
      if (fault.stall_ms > 0) ModelClock::next_gate_lasts(1e3 * static_cast<double>(fault.stall_ms));
      here.executor.append(stream, stop);
    }
  }
  here.executor.append(stream, node);
  return cudaSuccess;
}

cudaError_t enqueue(cudaStream_t handle, Operation operation) {
  const auto [stream, status] = usable(handle);
  if (status != cudaSuccess) return status;
  Executor& executor = runtime().executor;
  Node* const node = executor.take_node(NodeKind::operation);
  node->parts = std::max(1, operation.parts);
  node->operation = std::move(operation);
  return submit(stream, node);
}

cudaError_t enqueue_gate(cudaStream_t handle, std::shared_ptr<Gate> gate) {
  const auto [stream, status] = usable(handle);
  if (status != cudaSuccess) return status;
  Executor& executor = runtime().executor;
  Node* const node = executor.take_node(NodeKind::gate);
  node->gate = std::move(gate);
  return submit(stream, node);
}

int device_of(cudaStream_t handle) {
  if (ready_to_call() != cudaSuccess) return -1;
  const Stream* const stream = stream_behind(handle);
  return stream == nullptr ? -1 : stream->device;
}

int device_of_address(const void* address) { return runtime().memory.device_of(address); }

int parts_for(const Cost& cost) {
  // A part should last some tens of microseconds of a core, or handing it out costs more than it brings.
  constexpr double kBytes = 256 << 10;
  constexpr double kFlops = 1e6;
  const double parts = std::ceil(std::max(cost.bytes / kBytes, cost.flops / kFlops));
  // Workspaces, and with them what memory is in use, follow from parts: in the model clock they are the same on every computer.
  constexpr int kInModelClock = 4;
  const int most = model_clock() != nullptr ? kInModelClock : runtime().config.workers;
  return static_cast<int>(std::clamp(parts, 1.0, static_cast<double>(most)));
}

cudaError_t launch(const cudaLaunchConfig_t* config, void (*kernel)(), const Signature& signature, const std::byte* packed) {
  const LaunchNote note = take_launch_note();
  return called("cudaLaunchKernelEx", [&] { return launch_on(config, kernel, signature, packed, note); });
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::shared_ptr<const DeviceKernel> kernel, std::span<const std::byte> arguments,
                   Cost cost) {
  return called("cudaLaunchKernel", [&] { return launch_code(config, std::move(kernel), arguments, cost); });
}

}  // namespace lockstep::sim
