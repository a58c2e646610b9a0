// Progress as Keras shows it: a moving bar on a terminal, one line an epoch in a file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <backend/host_clock.h>
#include "lockstep/model.h"

namespace lockstep {

// Progress as text that fits a terminal of `width` columns. While training runs it is one line: values that do not fit are left out, then
// the bar shrinks. A finished epoch has all its values, on further lines where it must.
struct ProgressLine {
  std::int64_t done = 0;
  std::int64_t total = -1;  // -1: not known
  double seconds = 0;       // since the epoch began
  double step_seconds = 0;  // mean of a step
  double samples_per_second = 0;
  bool finished = false;
  Logs logs;
};
std::string format_progress(const ProgressLine& line, int width);

class ProgressBar {
 public:
  ProgressBar(Verbose verbose, int epochs);

  void begin_epoch(int epoch, std::int64_t steps);
  void count(std::int64_t samples) { samples_ += samples; }
  bool due();  // a moving bar that has not moved for a tenth of a second
  void show(std::int64_t done, const Logs& logs);
  void end_batches();  // validation comes next and does not count as training time
  void end_epoch(std::int64_t done, const Logs& logs);

 private:
  // The host's, or the modelled machine's: what is shown and when must not depend on this computer's speed there.
  struct Clock {
    using time_point = std::chrono::time_point<Clock, std::chrono::nanoseconds>;
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    static time_point now() { return time_point(std::chrono::nanoseconds(host_clock_ns())); }
  };
  std::string line(std::int64_t done, const Logs& logs, bool finished, int width) const;

  Verbose verbose_;
  int epochs_;
  std::int64_t steps_ = -1;
  std::int64_t samples_ = 0;
  Clock::time_point begin_{}, shown_{}, batches_end_{};
};

}  // namespace lockstep
