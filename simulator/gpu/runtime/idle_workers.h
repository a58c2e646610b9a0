// Workers that have nothing to do: one looks for work for a short time, the others sleep until they are woken.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "simulator/gpu/runtime/schedule.h"
#include "simulator/gpu/runtime/spin.h"

namespace lockstep::sim {

class IdleWorkers {
 public:
  explicit IdleWorkers(const Schedule& schedule) : schedule_(schedule) {}

  // With the executor's lock, which is released during the wait. Returns when there may be work, or when `stopping`.
  void wait(int worker, std::unique_lock<SpinMutex>& lock, const std::atomic<bool>& stopping);
  // With the lock: how many to wake for the work that there is, beyond those that are about to look. `mine` of it is the caller's.
  int to_wake(int mine = 0) { return sleeping_ == 0 ? 0 : count_to_wake(mine); }

  // Without the lock.
  void wake(int count) {
    if (count > 0) ring(count);
  }
  void wake_all();

 private:
  int count_to_wake(int mine);
  void ring(int count);

  const Schedule& schedule_;
  int sleeping_ = 0, looking_ = 0, waking_ = 0;
  bool first_sleeps_ = false;  // worker 0, the only one that works under a seed
  std::atomic<std::uint32_t> wakes_{0};
};

}  // namespace lockstep::sim
