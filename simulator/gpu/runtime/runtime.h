// The one virtual machine of a process: made at first use, stopped when the process ends.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "simulator/gpu/runtime/capture.h"
#include "simulator/gpu/runtime/config.h"
#include "simulator/gpu/runtime/device_kernel_table.h"
#include "simulator/gpu/runtime/executor.h"
#include "simulator/gpu/runtime/faults.h"
#include "simulator/gpu/runtime/memory.h"

namespace lockstep::sim {

class Checker;

struct Runtime {
  Runtime();
  ~Runtime();

  int devices() const { return config.machine.gpus; }
  bool peer_access(int from, int to) const { return peers[index(from, to)].load(std::memory_order_relaxed); }
  std::size_t index(int from, int to) const { return static_cast<std::size_t>(from * devices() + to); }

  Config config;
  DeviceKernelTable device_kernels;
  std::unique_ptr<Checker> checker;  // null unless check mode is on
  Memory memory;
  std::vector<std::atomic<bool>> peers;  // peers[from, to]: kernels of `from` may use memory of `to`
  std::atomic<KernelMode> kernels;
  Captures captures;
  Executor executor;
};
Runtime& runtime();

// Shared by the C functions.
int current_device();
void set_current_device(int device);
cudaError_t remember(cudaError_t status);  // becomes the thread's last error unless it is success

// Every C function: what a plan of faults.h or the body says, remembered. The device is the calling thread's current one.
template <typename Body>
cudaError_t called(const char* name, const Body& body) {
  if (const auto planned = planned_fault(name, current_device())) return remember(static_cast<cudaError_t>(*planned));
  return remember(body());
}

// What stands in the way of any call: no device, a bad environment, a call from inside an operation, the end of the process, and
// (for calls that use a device) the sticky error of the current one.
cudaError_t ready_to_call();
cudaError_t ready_to_use_device();

// The stream behind a handle (null and cudaStreamLegacy: the legacy stream of the current device; cudaStreamPerThread: the calling
// thread's own one of the current device); nullptr for an invalid one.
Stream* stream_behind(cudaStream_t handle);

// A filled node goes to its stream, or into the graph that the stream captures.
cudaError_t submit(Stream* stream, Node* node);

}  // namespace lockstep::sim
