// `lockstep devices`: lists the GPUs, real or virtual, and how they would be split.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {
namespace {

bool is_virtual(const GpuDescription& gpu) { return gpu.model.rfind("Virtual", 0) == 0; }

int list(bool json) {
  bool any_virtual = false;
  const std::vector<GpuId> gpus = list_gpus();
  for (const GpuId& id : gpus) {
    const GpuDescription gpu = describe_gpu(id.physical);
    any_virtual = any_virtual || is_virtual(gpu);
    if (json)
      fmt::print(
          "{{\"name\": \"{}\", \"model\": \"{}\", \"virtual\": {}, \"memory_mib\": {}, \"free_mib\": {}, \"multiprocessors\": {}}}\n",
          id.name(), gpu.model, is_virtual(gpu), gpu.memory_mib, gpu.free_mib, gpu.multiprocessors);
    else
      fmt::print("{:<8} {:<28} {:>6} MiB, {} free, {} multiprocessors\n", id.name(), gpu.model, gpu.memory_mib, gpu.free_mib,
                 gpu.multiprocessors);
  }
  if (json) return 0;
  if (any_virtual)
    fmt::print(
        "\nVirtual GPUs run on this computer's cores. To model another machine:\n  LOCKSTEP_SIM_MACHINE=4xt4 lockstep devices (t4, 4xt4, "
        "a100x8, h100x8), or run --gpus 4\n");
  fmt::print("{}\n", gpus.size() == 1 ? "`run` splits this GPU into 2 logical GPUs of 1024 MiB each. To choose:\n"
                                        "  lockstep run mnist --logical 4 --memory-limit 512"
                                      : "`run` puts a replica on each GPU; `run --logical 2` splits the first one instead.");
  return 0;
}

}  // namespace

Command add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the GPUs, real or virtual, and how they are split");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print a line of JSON for each GPU");
  return {command, [json] { return list(*json); }};
}

}  // namespace lockstep::cli
