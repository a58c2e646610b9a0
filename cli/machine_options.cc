#include "cli/machine_options.h"

#include <fmt/format.h>

#include <cstdlib>

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
  command.add_option("--overlap", options.overlap, "off: sum gradients only after backward")->check(one_of({"on", "off"}));
  command.add_option("--bucket", options.bucket_mib, "The size of a bucket of gradients, in MiB [4]")->check(number(0, 65536));
}

void use_step_options(const MachineOptions& options) {
  if (!options.overlap.empty()) setenv("LOCKSTEP_OVERLAP", options.overlap.c_str(), 1);
  if (options.bucket_mib > 0) setenv("LOCKSTEP_BUCKET_MIB", fmt::format("{}", options.bucket_mib).c_str(), 1);
}

}  // namespace lockstep::cli
