// `lockstep project all-reduce`: how long NCCL's all-reduce takes on a machine, without a workload around it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/project/allowed_algorithms.h"
#include "cli/project/project.h"
#include "simulator/clock/collectives.h"

namespace lockstep::cli {

namespace {

// Ranks are spread evenly over the nodes.
clock::Machine machine_with(const ProjectOptions& options, int* ranks) {
  clock::Machine machine = *clock::find_machine(options.machine.machine.empty() ? "h100x8" : options.machine.machine);
  const int per_node = options.gpus > 0 ? options.gpus : machine.gpus_per_node;
  if (per_node > machine.gpus_per_node)
    throw UsageError(fmt::format("{} has {} GPUs in a node, not {}. Fix: a smaller --gpus", machine.name, machine.gpus_per_node, per_node));
  const int enough = std::max(1, (options.ranks + per_node - 1) / per_node);
  const std::vector<int> nodes = parse_nodes(options.nodes.empty() ? std::to_string(enough) : options.nodes);
  if (nodes.size() != 1) throw UsageError("project all-reduce takes one number of nodes. Fix: --nodes 2");
  *ranks = options.ranks > 0 ? options.ranks : nodes[0] * per_node;
  if (*ranks < 2) throw UsageError("an all-reduce has at least 2 ranks. Fix: --ranks 2, or a machine with several GPUs");
  if (*ranks > nodes[0] * per_node)
    throw UsageError(fmt::format("{} ranks do not fit on {} of {} GPUs. Fix: --nodes {}", *ranks,
                                 nodes[0] == 1 ? "1 node" : fmt::format("{} nodes", nodes[0]), per_node,
                                 (*ranks + per_node - 1) / per_node));
  if (*ranks % nodes[0] != 0)
    throw UsageError(fmt::format("{} ranks do not spread evenly over {} nodes. Fix: a multiple of {}", *ranks, nodes[0], nodes[0]));
  machine.gpus_per_node = *ranks / nodes[0];
  return clock::with_nodes(machine, nodes[0]);
}

}  // namespace

int project_all_reduce(const ProjectOptions& options) {
  int ranks = 0;
  const clock::Machine machine = machine_with(options, &ranks);
  const auto bytes = static_cast<double>(options.bytes);
  const clock::CollectiveTime time =
      clock::collective_time(machine, clock::Collective::all_reduce, bytes, ranks, allowed_algorithms(options.algorithm));
  if (time.bus_gb_s <= 0)
    throw UsageError(fmt::format("{} on {} can't use the algorithm \"{}\". Fix: leave out --algorithm", machine.name, machine.describe,
                                 options.algorithm));
  const std::string algorithm = clock::kAlgorithmNames[static_cast<std::size_t>(time.algorithm)];
  const std::string protocol = clock::kProtocolNames[static_cast<std::size_t>(time.protocol)];
  const double us = time.total_us();
  const double bus_gb_s = 2.0 * (ranks - 1) / ranks * bytes / us * 1e-3;
  if (options.json) {
    const nlohmann::ordered_json json = {{"machine", machine.name},
                                         {"nodes", machine.nodes()},
                                         {"ranks", ranks},
                                         {"bytes", options.bytes},
                                         {"us", us},
                                         {"algorithm", algorithm},
                                         {"protocol", protocol},
                                         {"latency_us", time.latency_us},
                                         {"bus_gb_s", bus_gb_s}};
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("all-reduce of {} bytes, {} ranks on {} x {} ({})\n", options.bytes, ranks, machine.nodes(), machine.name, machine.describe);
  fmt::print("{:.1f} us, of which {:.1f} us latency; {:.1f} GB/s bus bandwidth; {}, {}\n", us, time.latency_us, bus_gb_s, algorithm,
             protocol);
  return 0;
}

}  // namespace lockstep::cli
