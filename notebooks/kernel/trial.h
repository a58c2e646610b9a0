// Runs a function in a copy of this process with limits of memory and time; this process does not change.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace lockstep::kernel {

struct TrialLimits {
  std::size_t memory = std::size_t{1} << 30;  // bytes beyond what the process has
  unsigned seconds = 60;                      // of the processor
};

struct TrialResult {
  bool answered = false;
  std::string text;  // the answer, or why there is none: "it took more than 1 GiB of memory"
};

// The copy has only the calling thread. `give_up` is called from time to time; when it returns true, the copy is ended.
TrialResult in_a_copy(const std::function<std::string()>& question, const TrialLimits& limits, const std::function<bool()>& give_up);

}  // namespace lockstep::kernel
