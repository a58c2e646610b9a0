// Every wait of a step has a deadline.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/device/stream.h"

namespace lockstep {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(double seconds)  // infinity is allowed
      : seconds_(seconds),
        at_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kLongest)))) {}
  double seconds() const { return seconds_; }  // from when it was made
  double seconds_left() const { return std::max(0.0, std::chrono::duration<double>(at_ - Clock::now()).count()); }
  Clock::time_point at() const { return at_; }
  bool passed() const { return Clock::now() >= at_; }

 private:
  static constexpr double kLongest = 1e9;  // thirty years: the clock counts no further than some three hundred
  double seconds_;
  Clock::time_point at_;
};

// Asks again and again, ever less often (20 to 200 microseconds): CUDA has no wait with a time limit. False once the deadline passed.
inline bool wait_until_done(const Event& event, const Deadline& deadline) {
  constexpr int kYields = 16;
  std::chrono::microseconds pause(20);
  for (int attempt = 0; !event.done(); ++attempt) {
    if (deadline.passed()) return false;
    if (attempt < kYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(200));
    }
  }
  return true;
}

}  // namespace lockstep
