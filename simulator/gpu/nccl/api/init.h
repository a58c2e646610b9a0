// Initialisation: ranks of one call, or of one group of calls, become members of their communicators. It runs on the caller's thread, or on
// a thread of its own where the communicator is not blocking (ncclConfig_t).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/nccl/api/comm.h"

namespace lockstep::sim::nccl {

// A call of ncclCommInitRank. `out` is the caller's variable: set to null where a blocking initialisation fails.
struct InitCall {
  ncclUniqueId id;
  Comm comm;
  ncclComm_t* out;
  bool blocking = true;
};

class InitJob : public std::enable_shared_from_this<InitJob> {
 public:
  explicit InitJob(std::vector<InitCall> calls) : calls_(std::move(calls)) {}

  ncclResult_t run();
  void run_in_background();
  void cancel();  // returns when it has ended

 private:
  ncclResult_t init_ranks();

  std::vector<InitCall> calls_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
};

// Blocks if all of the calls do.
ncclResult_t init_all(const std::vector<InitCall>& calls);

}  // namespace lockstep::sim::nccl
