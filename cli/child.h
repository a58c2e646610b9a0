// Runs a program in a process of its own and waits for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep::cli {

struct ChildOptions {
  std::string out, errors;  // files for its stdout and stderr; empty: those of this process
  std::vector<std::pair<std::string, std::string>> environment;
  int seconds = 0;       // after which it is killed; 0: never
  bool capture = false;  // its stdout goes to ChildResult::output
};

struct ChildResult {
  int status = 0;  // as waitpid gives it
  bool timed_out = false;
  std::string output;

  int code() const;  // the exit code, or 128 and the signal's number
};

// `command` is the program and its arguments. An Error when it can't be started; it ends when this process ends.
ChildResult run_child(const std::vector<std::string>& command, const ChildOptions& options = {});

// This program again with other arguments; its stdout is in `output`.
ChildResult run_self(const std::vector<std::string>& arguments);

}  // namespace lockstep::cli
