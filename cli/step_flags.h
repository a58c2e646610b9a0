// Options of a step that `lockstep run` and `lockstep project` share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "lockstep/step_options.h"

namespace lockstep::cli {

struct StepFlags {
  std::string overlap;    // on or off; empty: from the environment
  double bucket_mib = 0;  // 0: from the environment
  std::string flip_bit;   // for tests: one bit of one copy is flipped, see lockstep/flipped_bit.h
};

void add_step_flags(CLI::App& command, StepFlags& flags);
StepOptions step_options(const StepFlags& flags);  // those of the environment, changed by the flags

}  // namespace lockstep::cli
