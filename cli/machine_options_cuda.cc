// Options of the virtual GPU, in a build for real GPUs.
#include "cli/machine_options.h"
#include "lockstep/error.h"

namespace lockstep::cli {

std::string machine_problem(const std::string& /*name*/) { return ""; }

void use_machine(const MachineOptions& options) {
  if (!options.machine.empty() || options.nodes > 0 || options.clock == "model" || options.no_math)
    throw Error(
        "This program was built for real GPUs; --machine, --nodes, --clock model and --no-math are for the virtual GPU. "
        "Fix: LOCKSTEP_PRESET=sim ./lockstep ...");
}

}  // namespace lockstep::cli
