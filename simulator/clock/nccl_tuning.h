// How NCCL chooses an algorithm and a protocol: it estimates the time of each from constants of its own and takes the smallest. The
// estimates are often wrong by a factor of two, and its choice rests on them all the same, so they are kept apart from the times that the
// model gives (collectives.h). The constants are those of NCCL 2.19, src/graph/tuning.cc.
#pragma once

#include <array>

#include "simulator/clock/machine_model.h"

namespace lockstep::clock {

enum class Algorithm { ring, tree, in_switch };
inline constexpr std::array<const char*, 3> kAlgorithmNames = {"ring", "tree", "switch"};

// What a collective asks of the links, by one algorithm and protocol: hops one after another, and the bytes that each rank sends.
struct Traffic {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int nodes = 1;
  double near_hops = 0, far_hops = 0;  // within a node, between nodes
  double sent = 0, own = 0;            // own: the bytes of a rank's data, where it passes over them once more
  double bus_gb_s = 0;  // at which the links carry them, before the protocol's part; 0: there is no such algorithm or protocol
};

double nccl_estimate_us(const Machine& machine, const Traffic& traffic);

}  // namespace lockstep::clock
