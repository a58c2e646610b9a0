// `lockstep exec --counts`: what the warps of each kernel did, on stderr when the program ends.
#pragma once

#include "simulator/gpu/ptx/counts.h"

namespace lockstep::nvidia {

bool counts_wanted();  // LOCKSTEP_SIM_COUNTS=1

// A table for one kernel: all of it, then each line of its source.
void report_counts(int device, const ptx::Module& module, const ptx::Code& kernel, const std::string& name, const ptx::Counts& counts);

}  // namespace lockstep::nvidia
