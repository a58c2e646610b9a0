// A machine's GPUs as resources of a timeline, and operations as tasks: the roofline. A kernel lasts as long as its arithmetic or its
// memory traffic takes at the speed its kind reaches, whichever is longer, after a fixed time; it uses the other resource as much as it
// needs to keep up. A launch whose grid is known also takes as long as its waves of blocks do (kernel_launch.h), and it holds places of
// multiprocessors: kernels that leave most of a card idle run side by side, kernels that fill it do not. Streams of one card, and so the
// logical GPUs on it, share all of these.
#pragma once

#include <vector>

#include "simulator/clock/collectives.h"
#include "simulator/clock/kernel_launch.h"
#include "simulator/clock/machine_model.h"
#include "simulator/clock/timeline.h"

namespace lockstep::clock {

inline constexpr int kHost = -1;  // as a place of memory

class Hardware {
 public:
  // `slowdown`, where given, makes a GPU's kernels take so many times as long; by device.
  Hardware(const Machine& machine, Timeline& timeline, int devices, std::vector<double> slowdown = {});

  Task kernel(int device, Kind kind, Arithmetic arithmetic, double flops, double bytes) const;  // with a grid that fills the card
  Task kernel(int device, Kind kind, const Launch& launch, double flops, double bytes) const;   // fp32; with this grid (kernel_launch.h)
  Task fill(int device, double bytes) const;
  Task copy(int device, int from, int to, double bytes) const;  // issued on a stream of `device`
  Task collective(int device, const CollectiveTime& time, double bytes) const;

  Time launch() const { return launch_; }  // the host's
  Time call() const { return call_; }
  Task host_copy(int device, double bytes) const;  // by a thread of the host, on the node of this device
  const Machine& machine() const { return machine_; }

 private:
  struct Card {
    int compute = 0, memory = 0, places = 0, host_in = 0, host_out = 0, peer_in = 0, peer_out = 0;
    int engine_in = 0, engine_out = 0;
    double slowdown = 1;
  };
  struct Node {
    int in = 0, out = 0, host_memory = 0;
  };
  // `least`: picoseconds that its grid takes, whatever the card's arithmetic and memory could do. `places`: its part of the places that
  // multiprocessors have for blocks.
  Task kernel(int device, Kind kind, Arithmetic arithmetic, double flops, double bytes, double least, double places) const;
  const Card& card(int device) const { return cards_[static_cast<std::size_t>(device)]; }
  int node_of(int device) const { return device / machine_.gpus_per_node; }

  Machine machine_;
  std::vector<Card> cards_;
  std::vector<Node> nodes_;
  Time launch_ = 0, call_ = 0;
};

Time from_us(double microseconds);

}  // namespace lockstep::clock
