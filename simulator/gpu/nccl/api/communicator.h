// One rank's end of a communicator: what an ncclComm_t points to.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "simulator/gpu/nccl/clique.h"

namespace lockstep::sim::nccl {
class Entrance;
}

struct ncclComm {
  int ranks = 1;
  int rank = 0;
  int device = 0;

  mutable std::mutex mutex;
  std::shared_ptr<lockstep::sim::nccl::Clique> clique;      // null until all ranks have met
  std::shared_ptr<lockstep::sim::nccl::Entrance> entrance;  // while it is made beside its caller
  lockstep::sim::nccl::Verdict never_met;                   // why a communicator that is made so has no clique
  bool finalized = false;
  std::string error;                                          // the last refusal of this rank's calls
  std::map<std::pair<int, bool>, cudaStream_t> side_streams;  // for sends and receives of one group, by (peer, sends)
};

namespace lockstep::sim::nccl {

using Communicator = std::shared_ptr<ncclComm>;

// Handles live here, so a handle that was never made or is already destroyed is refused and not dereferenced.
Communicator add_communicator(int ranks, int rank, int device);
Communicator find_communicator(ncclComm_t handle);  // nullptr: no such communicator
void remove_communicator(ncclComm_t handle);

// The clique, once all ranks have met.
std::shared_ptr<Clique> clique_of(const Communicator& communicator);
// What there is to say of one as a whole: in progress, the state of its clique, or why it has none.
Verdict state_of(const Communicator& communicator);

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

// Remembers a refusal's sentence for ncclGetLastError and returns its code.
ncclResult_t report(const Verdict& verdict, const Communicator& communicator = nullptr);

}  // namespace lockstep::sim::nccl
