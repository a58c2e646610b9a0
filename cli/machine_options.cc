#include "cli/machine_options.h"

#include "cli/validators.h"

namespace lockstep::cli {

void add_machine_options(CLI::App& command, MachineOptions& options, bool with_clock) {
  command.add_option("--machine", options.machine, "The machine to model: t4, 4xt4, a100x8, h100x8, ... or a file (docs/model-clock.md)")
      ->check(CLI::Validator([](std::string& name) { return machine_problem(name); }, ""));
  if (with_clock) {
    command.add_option("--nodes", options.nodes, "The number of these machines, connected by a network")->check(whole_number(1, 64));
    command.add_option("--clock", options.clock, "wall: measure times on this computer; model: those of the modelled machine")
        ->check(one_of({"wall", "model"}));
    command.add_flag("--no-math", options.no_math, "Model the time of all operations and compute none");
  }
}

}  // namespace lockstep::cli
