// Faults on demand: the k-th call of a function fails, returns late or ends the process; an operation fails or stalls its stream.
//
// LOCKSTEP_SIM_FAULT holds plans, separated by semicolons, each of words separated by colons:
//
//   cudaMalloc:3:device=1:error=2     the third cudaMalloc of a thread whose current device is 1 returns "out of memory"
//   launch:5:stall=20                 the fifth kernel launch returns 20 ms late
//   operation:7:device=0:error=700    the seventh operation queued on device 0 faults when it runs: a sticky error
//   operation:7:stall=50              its stream stands still before it for 50 ms (`hang`: until reset_faults)
//   alloc:4:times=2                   the fourth and fifth allocation of device memory fail
//   kill-peer:2:device=1              the process ends at once at the second collective of device 1
//
// The first word is the name of a call of the CUDA runtime, cuBLASLt, cuDNN or NCCL, or one of
//   any         every call of the CUDA runtime
//   alloc       cudaMalloc and cudaMallocAsync
//   launch      cudaLaunchKernelEx; in programs that nvcc made cudaLaunchKernel and cudaLaunchKernelExC
//   copy        the copies: cudaMemcpy, cudaMemcpyAsync, cudaMemcpyPeer, cudaMemcpyPeerAsync
//   collective  NCCL's collectives
//   operation   what streams run (kernels, copies, fills, library calls), counted when it is queued
//   kill-peer   collective, with `kill`
// The number counts from 1 (the default); 0 only counts. Without device= the calls of all threads are counted together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace lockstep::sim {

struct FaultPlan {
  std::string call;
  std::uint64_t at = 1;     // the first call that is hit
  std::uint64_t times = 1;  // and how many in a row
  int device = -1;          // -1: any
  int error = -1;           // what the call returns; -1: its usual error
  int stall_ms = 0;
  bool hang = false;  // operations: until reset_faults
  bool kill = false;  // ends the process at once

  std::uint64_t seen = 0;   // calls that the plan counted
  std::uint64_t fired = 0;  // calls that it hit
};

// Reads plans as above; where the text can't be understood `problem` says why.
std::vector<FaultPlan> parse_faults(const std::string& text, std::string& problem);

// In-process control, for tests. Arming starts the counts again; a wrong text throws std::invalid_argument.
void arm_faults(const std::string& text);
void reset_faults();  // disarms all plans and releases streams that hang
std::vector<FaultPlan> armed_faults();

// --- For the calls themselves.

extern std::atomic<bool> faults_armed;

// The status that the call must return instead of doing anything; nothing if it may go on. May sleep.
std::optional<int> look_up_fault(const char* call, int device);
inline std::optional<int> planned_fault(const char* call, int device) {
  if (!faults_armed.load(std::memory_order_relaxed)) [[likely]]
    return std::nullopt;
  return look_up_fault(call, device);
}

// The same for an operation on its way to a stream.
struct OperationFault {
  cudaError_t error = cudaSuccess;
  int stall_ms = 0;
  bool hang = false;
};
OperationFault planned_operation_fault(int device);
class Gate;
void open_after(const std::shared_ptr<Gate>& gate, const OperationFault& fault);

}  // namespace lockstep::sim
