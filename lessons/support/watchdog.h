// Ends a test that does not end by itself, and explains why the program ends early: an endless loop, a stack that is full, an abort.
#pragma once

#include <functional>
#include <string>

namespace lesson {

// Says "still running" after a quarter of the seconds of LOCKSTEP_LESSON_SECONDS (20), and ends the program after all of them.
// `say` prints, `tell` writes the last line of the results: the kind of ending ("stopped", "crashed") and a sentence.
struct WatchdogOutput {
  std::function<void(const std::string&)> say;
  std::function<void(const std::string& kind, const std::string& sentence)> tell;
};
void start_watchdog(WatchdogOutput output);

// The test that runs now; empty between tests.
void watch_test(const std::string& name);

}  // namespace lesson
