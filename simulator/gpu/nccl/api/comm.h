// A comm: one rank's handle of a communicator, what an ncclComm_t points to.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "simulator/gpu/nccl/communicator.h"

namespace lockstep::sim::nccl {
class InitJob;
}

struct ncclComm {
  int ranks = 1;
  int rank = 0;
  int device = 0;

  mutable std::mutex mutex;
  std::shared_ptr<lockstep::sim::nccl::Communicator> communicator;  // null until all ranks are initialised
  std::shared_ptr<lockstep::sim::nccl::InitJob> init;               // while a non-blocking initialisation runs
  lockstep::sim::nccl::Result init_error;                           // why that one failed
  bool finalized = false;
  std::string error;                                          // the last refusal of this rank's calls
  std::map<std::pair<int, bool>, cudaStream_t> side_streams;  // for sends and receives of one group, by (peer, sends)
};

namespace lockstep::sim::nccl {

using Comm = std::shared_ptr<ncclComm>;

// The registry of handles: one that was never made or is already destroyed is refused and not dereferenced.
Comm add_comm(int ranks, int rank, int device);
Comm find_comm(ncclComm_t handle);  // nullptr: no such comm
void remove_comm(ncclComm_t handle);

// The communicator, once all ranks are initialised.
std::shared_ptr<Communicator> communicator_of(const Comm& comm);
Result async_error_of(const Comm& comm);  // in progress, the error of its communicator, or why it has none

// Makes a device current and restores the former one.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

Result no_communicator(const char* function);  // the handle is not one
Result not_initialised(const char* function);

// Remembers a refusal's sentence for ncclGetLastError and returns its code.
ncclResult_t report(const Result& result, const Comm& comm = nullptr);

}  // namespace lockstep::sim::nccl
