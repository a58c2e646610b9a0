// An operation of a virtual GPU, and the one function that puts it on a stream.
//
// The CUDA runtime, cuBLASLt, cuDNN and NCCL of this folder all end here: they describe an Operation and enqueue it on a
// stream. Streams are FIFO queues; an operation runs later than its call, on a worker thread of the executor.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <backend/cost.h>
#include <cuda_runtime.h>

namespace lockstep::sim {

using lockstep::Cost;

// Bytes of device (or host) memory that an operation touches; the race detector compares them.
struct Touch {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  bool write = false;
};

enum class OperationKind { kernel, matmul, convolution, copy, memset, collective, host_function, marker };

// An operation is cut into `parts` that may run at the same time on several workers. How many there are depends on shapes
// and configuration only, never on which cores are idle, so the same program gives the same bits.
struct Operation {
  OperationKind kind = OperationKind::kernel;
  std::string name;
  Cost cost;
  std::vector<Touch> touches;
  int parts = 1;
  std::function<void(int part)> run;  // must not call the CUDA API; throws a Fault where a GPU would fault
};

// A fault inside an operation: it becomes the sticky error of the operation's device. Any other exception counts as
// cudaErrorLaunchFailure. A touch of a kernel, matmul or convolution that its device cannot reach is found by the executor.
struct Fault {
  cudaError_t status = cudaErrorLaunchFailure;
  std::string what;
  bool complete = false;  // the text names the operations itself
};

// Several streams meet here: a stream that reaches the gate stays there until `expected` streams have reached it.
// Collectives are gates around ordinary operations; no worker thread ever blocks.
class Gate;
inline constexpr int kOpenedFromOutside = 1 << 30;  // streams never come in such numbers: only open_gate opens the gate
std::shared_ptr<Gate> make_gate(int expected, std::string name);
// Lets every stream through that waits at the gate now or reaches it later: a collective that can't happen any more (an aborted or
// mismatched NCCL call) must not leave streams behind. Callable from any host thread.
void open_gate(const std::shared_ptr<Gate>& gate);

// Validates the stream (invalid: cudaErrorInvalidResourceHandle) and appends. The stream's device must be current where
// CUDA demands it (kernel launches); library calls check that themselves. nullptr is the legacy default stream of the current device.
cudaError_t enqueue(cudaStream_t stream, Operation operation);
cudaError_t enqueue_gate(cudaStream_t stream, std::shared_ptr<Gate> gate);

// The device a stream belongs to; -1 for an invalid handle.
int device_of(cudaStream_t stream);

// The device that owns this address; -1 for host memory.
int device_of_address(const void* address);

// Where the bytes behind a device address really are. Device addresses may be inaccessible to host code (check mode), so
// every `run` goes through this, at the time it runs.
template <typename T>
T* resolve(T* device_address);

// How many parts an operation of this cost is cut into; a function of the cost and the configuration.
int parts_for(const Cost& cost);

}  // namespace lockstep::sim

#include "simulator/gpu/runtime/resolve.inl"
