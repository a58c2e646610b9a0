// Real GPUs are what they are.
#include "cli/machine_options.h"
#include "lockstep/error.h"

namespace lockstep::cli {

std::string machine_problem(const std::string& /*name*/) { return ""; }

void use_machine(const MachineOptions& options) {
  if (!options.machine.empty() || options.nodes > 0 || options.clock == "model" || options.no_math)
    throw Error(
        "This program was built for real GPUs; --machine, --nodes, --clock model and --no-math are of the virtual one "
        "(LOCKSTEP_PRESET=sim ./lockstep ...).");
  use_step_options(options);
}

}  // namespace lockstep::cli
