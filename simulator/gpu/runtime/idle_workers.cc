#include "simulator/gpu/runtime/idle_workers.h"

#include <algorithm>

namespace lockstep::sim {

namespace {

constexpr int kSpinRounds = 64;  // about 20 microseconds of an otherwise idle core

}  // namespace

void IdleWorkers::wait(int worker, std::unique_lock<SpinMutex>& lock, const std::atomic<bool>& stopping) {
  if (looking_ == 0 && !(schedule_.seeded() && worker != 0)) {
    ++looking_;
    lock.unlock();
    spin_until(kSpinRounds, [&] { return schedule_.has_work() || stopping.load(std::memory_order_relaxed); });
    lock.lock();
    --looking_;
    if (schedule_.has_work()) return;
  }
  if (stopping.load(std::memory_order_relaxed)) return;
  ++sleeping_;
  if (worker == 0) first_sleeps_ = true;
  const std::uint32_t before = wakes_.load(std::memory_order_relaxed);
  lock.unlock();
  wakes_.wait(before, std::memory_order_acquire);
  lock.lock();
  --sleeping_;
  if (worker == 0) first_sleeps_ = false;
  waking_ = std::max(0, waking_ - 1);
}

int IdleWorkers::count_to_wake(int mine) {
  if (schedule_.seeded()) return first_sleeps_ && schedule_.has_streams() ? sleeping_ : 0;  // any of the sleeping ones may be the first
  const int missing = std::min(schedule_.open_work() - mine - looking_ - waking_, sleeping_ - waking_);
  if (missing <= 0) return 0;
  waking_ += missing;
  return missing;
}

void IdleWorkers::ring(int count) {
  wakes_.fetch_add(1, std::memory_order_release);
  for (int i = 0; i < count; ++i) wakes_.notify_one();
}

void IdleWorkers::wake_all() {
  wakes_.fetch_add(1);
  wakes_.notify_all();
}

}  // namespace lockstep::sim
