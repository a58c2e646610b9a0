// The ranks that one call, or one group of calls, brings into communicators: on the caller's thread, or beside it for communicators that
// are made without blocking.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/gpu/nccl/api/communicator.h"

namespace lockstep::sim::nccl {

// A rank's way into a communicator. `place` is the caller's variable: set to null when the ranks do not meet, where the caller waits.
struct Entry {
  ncclUniqueId id;
  Communicator communicator;
  ncclComm_t* place;
  bool blocking = true;
};

class Entrance : public std::enable_shared_from_this<Entrance> {
 public:
  explicit Entrance(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  ncclResult_t run();
  void run_aside();
  void cancel();  // and waits until nothing of it goes on

 private:
  ncclResult_t meet();

  std::vector<Entry> entries_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
};

// Blocking if all of the entries are.
ncclResult_t enter_all(const std::vector<Entry>& entries);

}  // namespace lockstep::sim::nccl
