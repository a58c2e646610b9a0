// The machine that the virtual GPU models, and its clock: options that `lockstep run` and `lockstep project` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lockstep::cli {

struct MachineOptions {
  std::string machine;  // a name or a file; empty: from the environment
  int nodes = 0;        // 0: from the environment
  std::string clock;    // wall or model
  bool no_math = false;
};

void add_machine_options(CLI::App& command, MachineOptions& options, bool with_clock);

std::string machine_problem(const std::string& name);  // why the name is not accepted; empty: it is, or GPUs are real

// Before the first use of a GPU. An Error where the GPUs are real ones.
void use_machine(const MachineOptions& options);

}  // namespace lockstep::cli
