#include "simulator/clock/hardware.h"

#include <algorithm>
#include <cmath>

namespace lockstep::clock {

namespace {

constexpr double kPerMicrosecond = 1e6;  // picoseconds

// Picoseconds that `amount` takes at `rate` a second.
double at_rate(double amount, double rate) { return rate > 0 ? amount / rate * kPicoseconds : 0; }

}  // namespace

Time from_us(double microseconds) { return static_cast<Time>(std::llround(microseconds * kPerMicrosecond)); }

Hardware::Hardware(const Machine& machine, Timeline& timeline, int devices, std::vector<double> slowdown)
    : machine_(machine), launch_(from_us(machine.launch_us)), call_(from_us(machine.call_us)) {
  for (int d = 0; d < devices; ++d) {
    Card card;
    card.compute = timeline.add_resource(machine.sharing_loss);
    card.memory = timeline.add_resource(machine.sharing_loss);
    card.places = timeline.add_resource();
    card.host_in = timeline.add_resource();
    card.host_out = timeline.add_resource();
    const bool same = machine.peer_link.shares_host_link;
    card.peer_in = same ? card.host_in : timeline.add_resource();
    card.peer_out = same ? card.host_out : timeline.add_resource();
    card.engine_in = timeline.add_engines(std::max(1, machine.copy_engines));
    card.engine_out = timeline.add_engines(std::max(1, machine.copy_engines));
    if (static_cast<std::size_t>(d) < slowdown.size()) card.slowdown = slowdown[static_cast<std::size_t>(d)];
    if (d == machine.slow_gpu) card.slowdown *= machine.slow_kernels;
    cards_.push_back(card);
  }
  for (int n = 0; n * machine.gpus_per_node < devices; ++n) {
    const int in = timeline.add_resource();
    const int out = timeline.add_resource();
    nodes_.push_back({in, out, timeline.add_resource()});
  }
}

Task Hardware::kernel(int device, Kind kind, Arithmetic arithmetic, double flops, double bytes) const {
  return kernel(device, kind, arithmetic, flops, bytes, 0, 0);
}

Task Hardware::kernel(int device, Kind kind, const Launch& launch, double flops, double bytes) const {
  if (!machine_.warps || occupancy(machine_, launch).blocks == 0) return kernel(device, kind, Arithmetic::fp32, flops, bytes);
  const LaunchTime time = launch_time(machine_, launch, work_of(machine_, launch, kind, flops, bytes), kind);
  return kernel(device, kind, Arithmetic::fp32, flops, bytes, time.body, std::min(1.0, time.waves));
}

Task Hardware::kernel(int device, Kind kind, Arithmetic arithmetic, double flops, double bytes, double least, double places) const {
  const Card& here = card(device);
  const Efficiency& efficiency = machine_.efficiency[static_cast<std::size_t>(kind)];
  const double compute = at_rate(
      flops, machine_.peak_tflops[static_cast<std::size_t>(arithmetic)] * 1e12 * efficiency.compute[static_cast<std::size_t>(arithmetic)]);
  const double memory = at_rate(bytes, machine_.memory_gb_s * 1e9 * efficiency.memory);
  Task task;
  task.fixed = from_us(machine_.kernel_us * here.slowdown);
  task.body = std::max({compute, memory, least}) * here.slowdown;
  if (task.body > 0) {
    task.demand(here.compute, compute * here.slowdown / task.body);
    task.demand(here.memory, memory * here.slowdown / task.body);
    task.demand(here.places, places);
  }
  return task;
}

Task Hardware::fill(int device, double bytes) const { return kernel(device, Kind::streaming, Arithmetic::fp32, 0, bytes); }

Task Hardware::copy(int device, int from, int to, double bytes) const {
  Task task;
  if (from == to && from != kHost) return kernel(from, Kind::streaming, Arithmetic::fp32, 0, 2 * bytes);
  if (from == kHost && to == kHost) {
    return host_copy(device, bytes);
  }
  const bool far = from != kHost && to != kHost && node_of(from) != node_of(to);
  const Link& link = from == kHost || to == kHost ? machine_.host_link : far ? machine_.network : machine_.peer_link;
  task.fixed = from_us(link.alpha_us);
  task.body = at_rate(bytes, link.gb_s * 1e9);
  if (machine_.slow_gpu >= 0 && (from == machine_.slow_gpu || to == machine_.slow_gpu)) task.body *= machine_.slow_link;
  if (from == kHost) {
    task.demand(card(to).host_in, 1);
  } else if (to == kHost) {
    task.demand(card(from).host_out, 1);
  } else {
    // What the link carries, of what the lanes could: a copy between cards is slower than one to the host over the same lanes.
    const double share = machine_.peer_link.shares_host_link ? std::min(1.0, link.gb_s / machine_.host_link.gb_s) : 1;
    task.demand(card(from).peer_out, share);
    task.demand(card(to).peer_in, share);
    if (far) {
      task.demand(nodes_[static_cast<std::size_t>(node_of(from))].out, 1);
      task.demand(nodes_[static_cast<std::size_t>(node_of(to))].in, 1);
    }
  }
  for (const int end : {from, to}) {
    if (end == kHost) continue;
    task.demand(card(end).memory, std::min(1.0, link.gb_s / machine_.memory_gb_s));
  }
  task.engine = to == device ? card(device).engine_in : card(device).engine_out;
  return task;
}

Task Hardware::collective(int device, const CollectiveTime& time, double bytes) const {
  const Card& here = card(device);
  Task task;
  task.fixed = from_us(time.latency_us);
  task.body = time.body_us * kPerMicrosecond;
  if (task.body <= 0) return task;
  const double link = machine_.peer_link.shares_host_link ? machine_.host_link.gb_s : machine_.peer_link.gb_s;
  task.demand(here.peer_out, std::min(1.0, time.bus_gb_s / std::max(link, 1e-9)));
  task.demand(here.peer_in, std::min(1.0, time.bus_gb_s / std::max(link, 1e-9)));
  task.demand(here.compute, machine_.nccl_compute_share);
  // It reads what it sends and reads and writes what it adds up.
  task.demand(here.memory, std::min(1.0, at_rate(4 * bytes, machine_.memory_gb_s * 1e9) / task.body));
  return task;
}

Task Hardware::host_copy(int device, double bytes) const {
  Task task;
  task.body = at_rate(bytes, machine_.host_copy_gb_s * 1e9);
  if (machine_.host_copies_gb_s > 0)
    task.demand(nodes_[static_cast<std::size_t>(node_of(device))].host_memory,
                std::min(1.0, machine_.host_copy_gb_s / machine_.host_copies_gb_s));
  return task;
}

}  // namespace lockstep::clock
