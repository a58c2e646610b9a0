// Locks and waits for very short times: spin a little, then sleep in the kernel.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace lockstep::sim {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// A mutex for critical sections of some tens of nanoseconds.
class SpinMutex {
 public:
  void lock() {
    std::uint32_t expected = 0;
    if (!state_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) lock_slowly();
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) state_.notify_one();
  }

 private:
  void lock_slowly() {
    for (int i = 0; i < 100; ++i) {
      std::uint32_t expected = 0;
      if (state_.load(std::memory_order_relaxed) == 0 &&
          state_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        return;
      }
      pause_briefly();
    }
    // 2: a thread may be asleep.
    while (state_.exchange(2, std::memory_order_acquire) != 0) state_.wait(2, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> state_{0};
};

// Polls `done` for a little while, letting others run; true once it holds.
template <typename Done>
bool spin_until(int rounds, const Done& done) {
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_briefly();
    }
    sched_yield();
  }
  return done();
}

}  // namespace lockstep::sim
