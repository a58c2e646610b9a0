// This program again, in a process of its own, with other words.
#pragma once

#include <string>
#include <vector>

namespace lockstep::cli {

struct ChildResult {
  int code = 0;
  std::string output;  // what it printed; errors go where ours go
};

// Waits for it. An Error when it can't be started.
ChildResult run_self(const std::vector<std::string>& words, const std::vector<std::pair<std::string, std::string>>& environment = {});

}  // namespace lockstep::cli
