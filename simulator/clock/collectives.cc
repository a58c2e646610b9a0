#include "simulator/clock/collectives.h"

#include <algorithm>
#include <limits>

namespace lockstep::clock {

namespace {

constexpr std::array<Protocol, 3> kProtocols = {Protocol::ll, Protocol::ll128, Protocol::simple};
constexpr std::array<Algorithm, 3> kAlgorithms = {Algorithm::ring, Algorithm::tree, Algorithm::in_switch};
constexpr double kImpossible = std::numeric_limits<double>::infinity();

// Powers of two that fit: the depth of a tree over so many nodes.
int log2_of(int nodes) {
  int depth = 0;
  while ((1 << depth) < nodes) ++depth;
  return depth;
}

int nodes_of(const Machine& machine, int ranks) {
  return machine.gpus_per_node > 0 ? (ranks + machine.gpus_per_node - 1) / machine.gpus_per_node : 1;
}

// `one` is the rate of a ring, or of all where a switch joins the GPUs. NVLinks that form no ring leave the lanes to the host.
double within_node(const Machine& machine, double one, int ranks) {
  if (machine.nvlink_rings.empty()) return one;
  const int rings = machine.nvlink_rings[static_cast<std::size_t>(std::min(ranks, machine.gpus_per_node))];
  return rings > 0 ? rings * one : std::min(one, machine.host_link.gb_s);
}

double bus_bandwidth(const Machine& machine, double one, int ranks, int nodes, Protocol protocol) {
  double bus = within_node(machine, one, ranks);
  if (nodes > 1) bus = std::min(bus, machine.network.gb_s);
  if (nodes > 1 && machine.nccl_network_gb_s > 0) bus = std::min(bus, machine.nccl_network_gb_s);
  return machine.nccl_bandwidth[static_cast<std::size_t>(protocol)] > 0 ? bus : 0;
}

Traffic all_reduce_traffic(const Machine& machine, double bytes, int ranks, Algorithm algorithm, Protocol protocol) {
  Traffic traffic{.algorithm = algorithm, .protocol = protocol, .nodes = nodes_of(machine, ranks), .own = bytes};
  const double n = ranks;
  traffic.sent = 2 * (n - 1) / n * bytes;
  switch (algorithm) {
    case Algorithm::ring:
      traffic.far_hops = traffic.nodes > 1 ? 2 * (traffic.nodes - 1) : 0;
      traffic.near_hops = 2 * (n - 1) - traffic.far_hops;
      traffic.bus_gb_s = bus_bandwidth(machine, machine.ring_gb_s, ranks, traffic.nodes, protocol);
      break;
    case Algorithm::tree:
      traffic.far_hops = 2 * log2_of(traffic.nodes);
      traffic.near_hops = 2 * (std::min(ranks, machine.gpus_per_node) - 1);
      traffic.bus_gb_s = bus_bandwidth(machine, machine.tree_gb_s, ranks, traffic.nodes, protocol);
      break;
    case Algorithm::in_switch:
      traffic.bus_gb_s = traffic.nodes == 1 && protocol == Protocol::simple ? machine.switch_gb_s : 0;
      break;
  }
  return traffic;
}

Traffic chain_traffic(const Machine& machine, Collective what, double bytes, int ranks, Protocol protocol) {
  Traffic traffic{.protocol = protocol, .nodes = nodes_of(machine, ranks), .own = bytes};
  const double n = ranks;
  const bool scatters = what == Collective::all_gather || what == Collective::reduce_scatter;
  const int steps = what == Collective::transfer ? 1 : ranks - 1;
  traffic.far_hops = traffic.nodes > 1 ? std::min(steps, what == Collective::transfer ? 1 : traffic.nodes - 1) : 0;
  traffic.near_hops = steps - traffic.far_hops;
  traffic.sent = scatters ? (n - 1) / n * bytes : bytes;
  traffic.bus_gb_s = bus_bandwidth(machine, machine.ring_gb_s, ranks, traffic.nodes, protocol);
  return traffic;
}

CollectiveTime time_of(const Machine& machine, const Traffic& traffic, double bytes, int ranks) {
  CollectiveTime time;
  time.algorithm = traffic.algorithm;
  time.protocol = traffic.protocol;
  time.body_us = kImpossible;
  if (traffic.bus_gb_s <= 0) return time;
  const auto p = static_cast<std::size_t>(traffic.protocol);
  time.body_us = traffic.sent / (traffic.bus_gb_s * machine.nccl_bandwidth[p]) * 1e-3;
  if (traffic.algorithm == Algorithm::in_switch) {
    time.latency_us = machine.switch_base_us;
  } else {
    const Link& slowest = traffic.nodes > 1 ? machine.network : machine.peer_link;
    const double part = bytes / (traffic.algorithm == Algorithm::tree ? std::min(ranks, machine.gpus_per_node) : ranks);
    time.latency_us = machine.nccl_base_us[p] + traffic.near_hops * machine.peer_link.nccl_alpha_us[p] +
                      traffic.far_hops * machine.network.nccl_alpha_us[p];
    if (slowest.nccl_ramp_us > 0) time.latency_us += slowest.nccl_ramp_us * part / (part + machine.nccl_ramp_bytes);
    if (machine.nccl_pass_gb_s > 0) time.body_us += traffic.own / machine.nccl_pass_gb_s * 1e-3;
  }
  time.bus_gb_s = traffic.sent / time.body_us * 1e-3;
  return time;
}

}  // namespace

CollectiveTime all_reduce_time(const Machine& machine, double bytes, int ranks, Algorithm algorithm, Protocol protocol) {
  return time_of(machine, all_reduce_traffic(machine, bytes, ranks, algorithm, protocol), bytes, ranks);
}

CollectiveTime collective_time(const Machine& machine, Collective what, double bytes, int ranks, const Allowed& allowed) {
  if (ranks < 2 || bytes <= 0) return {};
  Traffic chosen;
  double least = kImpossible;
  const auto consider = [&](const Traffic& traffic) {
    const double estimate = nccl_estimate_us(machine, traffic);
    if (estimate >= least) return;
    least = estimate;
    chosen = traffic;
  };
  for (const Protocol protocol : kProtocols) {
    if (what != Collective::all_reduce) {
      consider(chain_traffic(machine, what, bytes, ranks, protocol));
      continue;
    }
    for (const Algorithm algorithm : kAlgorithms) {
      const bool may = algorithm == Algorithm::ring ? allowed.ring : algorithm == Algorithm::tree ? allowed.tree : allowed.in_switch;
      if (may) consider(all_reduce_traffic(machine, bytes, ranks, algorithm, protocol));
    }
  }
  return time_of(machine, chosen, bytes, ranks);
}

}  // namespace lockstep::clock
