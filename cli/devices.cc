// `lockstep devices`: which GPUs there are.
#include <fmt/format.h>

#include "command.h"
#include "lockstep/lockstep.h"

namespace lockstep::cli {

Command add_devices(CLI::App& app) {
  CLI::App* devices = app.add_subcommand("devices", "List the GPUs there are, real or virtual");
  return {devices, [] {
            for (const GpuId& gpu : list_gpus()) fmt::print("{}\n", gpu.name());
            return 0;
          }};
}

}  // namespace lockstep::cli
