// What CUDA says about the machines of simulator/clock/machines, which is where their figures are.
#include "simulator/gpu/runtime/machine.h"

#include "simulator/gpu/runtime/model_clock.h"

namespace lockstep::sim {

std::optional<Machine> find_machine(const std::string& name) {
  std::string problem;
  const auto known = clock::find_machine(name, &problem);
  if (!known) return std::nullopt;
  return Machine{.name = known->name,
                 .gpu_name = known->gpu_name,
                 .gpus = known->gpus,
                 .memory_bytes = known->memory_bytes,
                 .major = known->major,
                 .minor = known->minor,
                 .multiprocessors = known->multiprocessors,
                 .threads_per_multiprocessor = known->threads_per_multiprocessor,
                 .shared_per_multiprocessor = known->shared_per_multiprocessor,
                 .shared_optin = known->shared_optin,
                 .l2_bytes = known->l2_bytes,
                 .memory_bus_bits = known->memory_bus_bits};
}

std::string machine_names() { return clock::machine_names() + ", or a JSON file (docs/model-clock.md)"; }

}  // namespace lockstep::sim
