#include "simulator/clock/nccl_tuning.h"

#include <algorithm>
#include <limits>

namespace lockstep::clock {

namespace {

using ByProtocol = std::array<double, 3>;
using ByAlgorithm = std::array<ByProtocol, 2>;  // ring, tree

constexpr ByAlgorithm kBase = {{{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}}};
constexpr ByAlgorithm kNvlinkHop = {{{0.6, 1.9, 3.4}, {0.6, 1.25, 28.0}}};
constexpr ByAlgorithm kPcieHop = {{{1.0, 2.5, 5.7}, {1.0, 1.9, 28.0}}};
constexpr ByAlgorithm kNetworkHop = {{{2.7, 4.0, 14.0}, {5.0, 8.5, 28.0}}};

// Of the bus bandwidth: LL sends a flag with each word and is checked by each thread, LL128 one in each line.
constexpr ByProtocol kPart = {0.25, 0.92, 1.0};

// The most that LL carries, by the number of nodes: 1, 2, more.
constexpr std::array<double, 3> kVoltaLl = {39.0, 39.0, 20.4}, kAmpereLl = {87.7, 22.5, 19.0}, kHopperLl = {141.0, 45.0, 35.0};

double most_of_ll(const Machine& machine, int nodes) {
  const auto& most = machine.major >= 9 ? kHopperLl : machine.major == 8 ? kAmpereLl : kVoltaLl;
  return most[static_cast<std::size_t>(std::min(nodes, 3) - 1)];
}

}  // namespace

double nccl_estimate_us(const Machine& machine, const Traffic& traffic) {
  if (traffic.bus_gb_s <= 0) return std::numeric_limits<double>::infinity();
  if (traffic.algorithm == Algorithm::in_switch) return machine.switch_base_us + traffic.sent / traffic.bus_gb_s * 1e-3;
  const auto a = static_cast<std::size_t>(traffic.algorithm);
  const auto p = static_cast<std::size_t>(traffic.protocol);
  const ByAlgorithm& near = machine.peer_link.shares_host_link ? kPcieHop : kNvlinkHop;
  double bus = kPart[p] * traffic.bus_gb_s;
  if (machine.nccl_pass_gb_s > 0) bus = kPart[p] * traffic.sent / (traffic.sent / traffic.bus_gb_s + traffic.own / machine.nccl_pass_gb_s);
  if (traffic.protocol == Protocol::ll) bus = std::min(bus, most_of_ll(machine, traffic.nodes));
  return kBase[a][p] + traffic.near_hops * near[a][p] + traffic.far_hops * kNetworkHop[a][p] + traffic.sent / bus * 1e-3;
}

}  // namespace lockstep::clock
