#include "simulator/clock/collectives.h"

#include <algorithm>
#include <limits>

namespace lockstep::clock {

namespace {

constexpr std::array<Protocol, 3> kProtocols = {Protocol::ll, Protocol::ll128, Protocol::simple};

// Powers of two that fit: the depth of a tree over so many nodes.
int log2_of(int nodes) {
  int depth = 0;
  while ((1 << (depth + 1)) <= nodes) ++depth;
  return (1 << depth) < nodes ? depth + 1 : depth;
}

int nodes_of(const Machine& machine, int ranks) {
  return machine.gpus_per_node > 0 ? (ranks + machine.gpus_per_node - 1) / machine.gpus_per_node : 1;
}

double bus_bandwidth(const Machine& machine, double within, int nodes, Protocol protocol) {
  const double bus = nodes > 1 ? std::min(within, machine.network.gb_s) : within;
  return bus * machine.nccl_bandwidth[static_cast<std::size_t>(protocol)];
}

double microseconds(double bytes, double gb_s) { return bytes / (gb_s * 1e3); }

constexpr double kImpossible = std::numeric_limits<double>::infinity();

}  // namespace

CollectiveTime all_reduce_time(const Machine& machine, double bytes, int ranks, Algorithm algorithm, Protocol protocol) {
  CollectiveTime time;
  time.algorithm = algorithm;
  time.protocol = protocol;
  const int nodes = nodes_of(machine, ranks);
  const auto p = static_cast<std::size_t>(protocol);
  const double within = machine.peer_link.nccl_alpha_us[p], between = machine.network.nccl_alpha_us[p];
  const double n = ranks;
  const double sent = 2 * (n - 1) / n * bytes;
  time.latency_us = machine.nccl_base_us[p];
  switch (algorithm) {
    case Algorithm::ring: {
      const int far = nodes > 1 ? 2 * (nodes - 1) : 0;
      time.latency_us += (2 * (ranks - 1) - far) * within + far * between;
      time.bus_gb_s = bus_bandwidth(machine, machine.ring_gb_s, nodes, protocol);
      break;
    }
    case Algorithm::tree: {
      const int local = std::min(ranks, machine.gpus_per_node);
      time.latency_us += 2 * ((local - 1) * within + log2_of(nodes) * between);
      time.bus_gb_s = bus_bandwidth(machine, machine.tree_gb_s, nodes, protocol);
      break;
    }
    case Algorithm::in_switch:
      time.latency_us = machine.switch_base_us;
      time.bus_gb_s = nodes == 1 && protocol == Protocol::simple ? machine.switch_gb_s : 0;
      break;
  }
  time.body_us = time.bus_gb_s > 0 ? microseconds(sent, time.bus_gb_s) : kImpossible;
  return time;
}

CollectiveTime collective_time(const Machine& machine, Collective what, double bytes, int ranks, const Allowed& allowed) {
  CollectiveTime best;
  if (ranks < 2 || bytes <= 0) return best;
  best.body_us = kImpossible;
  const int nodes = nodes_of(machine, ranks);
  if (what == Collective::all_reduce) {
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::in_switch}) {
      const bool may = algorithm == Algorithm::ring ? allowed.ring : algorithm == Algorithm::tree ? allowed.tree : allowed.in_switch;
      if (!may) continue;
      for (const Protocol protocol : kProtocols) {
        const CollectiveTime one = all_reduce_time(machine, bytes, ranks, algorithm, protocol);
        if (one.total_us() < best.total_us()) best = one;
      }
    }
    return best;
  }
  const double n = ranks;
  for (const Protocol protocol : kProtocols) {
    const auto p = static_cast<std::size_t>(protocol);
    CollectiveTime one;
    one.protocol = protocol;
    one.bus_gb_s = bus_bandwidth(machine, machine.ring_gb_s, nodes, protocol);
    const bool scatters = what == Collective::all_gather || what == Collective::reduce_scatter;
    const int steps = what == Collective::transfer ? 1 : ranks - 1;
    const int far = nodes > 1 ? std::min(steps, what == Collective::transfer ? 1 : nodes - 1) : 0;
    one.latency_us = machine.nccl_base_us[p] + (steps - far) * machine.peer_link.nccl_alpha_us[p] + far * machine.network.nccl_alpha_us[p];
    one.body_us = one.bus_gb_s > 0 ? microseconds(scatters ? (n - 1) / n * bytes : bytes, one.bus_gb_s) : kImpossible;
    if (one.total_us() < best.total_us()) best = one;
  }
  return best;
}

}  // namespace lockstep::clock
