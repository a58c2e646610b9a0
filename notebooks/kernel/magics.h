// Lines that begin with %, as in xeus-cling. %%file NAME writes the cell to a file; %%timeit measures it;
// %%cuda compiles it for the GPU (cuda_cell.h).
#pragma once

#include <optional>
#include <string>

namespace lockstep::kernel {

struct Magic {
  std::string code;      // to be run in place of the cell; empty: nothing is left to run
  std::string printed;   // what was done
  std::string mistaken;  // an error in one sentence; empty: none
};

std::optional<Magic> read_magic(const std::string& cell);  // nothing: an ordinary cell

}  // namespace lockstep::kernel
