// The virtual GPU reads its environment at first use.
#include <cstdlib>

#include "cli/machine_options.h"
#include "lockstep/error.h"
#include "simulator/clock/machine_model.h"

namespace lockstep::cli {

std::string machine_problem(const std::string& name) {
  std::string why;
  return clock::find_machine(name, &why) ? "" : "\"" + name + "\": " + why;
}

void use_machine(const MachineOptions& options) {
  const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  if (!options.machine.empty()) set("LOCKSTEP_SIM_MACHINE", options.machine);
  if (options.nodes > 0) set("LOCKSTEP_SIM_NODES", std::to_string(options.nodes));
  if (!options.clock.empty()) set("LOCKSTEP_SIM_CLOCK", options.clock);
  if (options.no_math) {
    if (options.clock == "wall") throw Error("--no-math computes nothing, so there is no wall time to measure. Fix: --clock model");
    set("LOCKSTEP_SIM_NO_MATH", "1");
    set("LOCKSTEP_SIM_CLOCK", "model");
  }
}

}  // namespace lockstep::cli
