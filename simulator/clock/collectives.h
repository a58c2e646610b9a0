// How long a collective takes, in closed form, by the algorithm and protocol that NCCL chooses (nccl_tuning.h):
//
//   base                              a kernel of NCCL starts and ends; by protocol
//   + hops x hop                      messages one after another; by protocol, within a node and between nodes
//   + ramp x c / (c + 32 KiB)         the channels' pipelines fill; c: a rank's part, of a ring's ranks or of those of a tree in a node
//   + bytes / pass                    a rank reads and writes its own data once, beside what it sends
//   + sent / (bus x part)             what a rank sends, at the bus bandwidth, of which a protocol uses a part
//
//   ring    2 (n - 1) hops, each rank sends 2 (n - 1) / n of the bytes
//   tree    up and down: 2 (g - 1) hops in a node of g GPUs, 2 log2(nodes) between nodes; the bytes of a ring, a part of its bandwidth
//   switch  the switch adds (NVLink SHARP); within a node only
//
// (Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005.) Bandwidth is NCCL's bus
// bandwidth, what one GPU sends: within a node the machine's figure, between nodes at most the network's. collective_fit.h says where the
// figures come from.
#pragma once

#include <string>

#include "simulator/clock/machine_model.h"
#include "simulator/clock/nccl_tuning.h"

namespace lockstep::clock {

enum class Collective { all_reduce, reduce, broadcast, all_gather, reduce_scatter, transfer };

struct Allowed {
  bool ring = true, tree = true, in_switch = true;
};

struct CollectiveTime {
  double latency_us = 0;
  double body_us = 0;
  double bus_gb_s = 0;  // what a rank sends, by the time of the body
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double total_us() const { return latency_us + body_us; }
};

// A collective as a rank calls it. Ranks fill the machine's nodes in order.
struct CollectiveShape {
  Collective what = Collective::all_reduce;
  double bytes = 0;  // as collective_time takes them
  int ranks = 1;
  Allowed allowed;
};

// `bytes` of one rank's input for all_reduce, reduce, broadcast and a transfer; of all ranks together for all_gather and reduce_scatter.
CollectiveTime collective_time(const Machine& machine, Collective what, double bytes, int ranks, const Allowed& allowed = {});

// One algorithm and protocol, for tests and tables.
CollectiveTime all_reduce_time(const Machine& machine, double bytes, int ranks, Algorithm algorithm, Protocol protocol);

}  // namespace lockstep::clock
