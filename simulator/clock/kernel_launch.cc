#include "simulator/clock/kernel_launch.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lockstep::clock {

namespace {

constexpr int kLanes = 32;
constexpr int kSchedulers = 4;  // of a multiprocessor, from Volta to Hopper; each issues one instruction a cycle
constexpr double kSector = 32;
constexpr int kRegisterUnit = 256;  // registers are given to warps in such units (CUDA occupancy calculator)
constexpr std::size_t kSharedUnit = 256;
constexpr double kPicosecondsPerUs = 1e6;

constexpr auto kMemory = static_cast<std::size_t>(Issue::memory);
constexpr auto kFp32 = static_cast<std::size_t>(Issue::fp32);

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

std::size_t up_to_multiple(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

int warps_of(const Launch& launch) { return (launch.threads + kLanes - 1) / kLanes; }

// Cycles from an instruction to one that needs its result.
double latency(const WarpFigures& figures, std::size_t issue, const WarpWork& work) {
  if (issue != kMemory) return figures.latency[issue];
  return work.l1_hits * figures.l1_latency +
         (1 - work.l1_hits) * (work.l2_hits * figures.l2_latency + (1 - work.l2_hits) * figures.latency[kMemory]);
}

// Cycles that a multiprocessor takes, by what it takes them for.
struct Cycles {
  double issue = 0, data = 0, chain = 0;
  double longest() const { return std::max({issue, data, chain}); }
};

Cycles cycles_of(const WarpFigures& figures, const WarpWork& work, std::uint64_t warps) {
  // A scheduler's units for a kind are a quarter of the multiprocessor's, so an instruction keeps them for 32 / (lanes / 4) cycles.
  double all = 0, busiest = 0;
  for (std::size_t issue = 0; issue < work.instructions.size(); ++issue) {
    all += work.instructions[issue];
    busiest = std::max(busiest, work.instructions[issue] * kSchedulers * kLanes / figures.lanes[issue]);
  }
  Cycles cycles;
  cycles.issue = std::max(all, busiest) * static_cast<double>(divide_up(warps, kSchedulers));
  cycles.data = (work.shared_passes + work.sectors * kSector / figures.l1_bytes) * static_cast<double>(warps);
  for (std::size_t issue = 0; issue < work.chain.size(); ++issue) {
    const double interval = kSchedulers * kLanes / figures.lanes[issue];
    cycles.chain += work.chain[issue] * std::max(interval, latency(figures, issue, work));
  }
  cycles.chain += work.chain_shared * figures.shared_latency;
  return cycles;
}

const WarpFigures& figures_of_warps(const Machine& machine) {
  if (!machine.warps) throw std::invalid_argument("machine \"" + machine.name + R"(" has no figures of warps ("gpu.warps"))");
  return *machine.warps;
}

}  // namespace

double clock_ghz(const Machine& machine) {
  return machine.peak_tflops[static_cast<std::size_t>(Arithmetic::fp32)] * 1e3 /
         (2 * figures_of_warps(machine).lanes[kFp32] * machine.multiprocessors);
}

Occupancy occupancy(const Machine& machine, const Launch& launch) {
  const WarpFigures& figures = figures_of_warps(machine);
  const auto warps = static_cast<std::uint64_t>(std::max(1, warps_of(launch)));
  const std::size_t registers = up_to_multiple(static_cast<std::size_t>(std::max(1, launch.registers)) * kLanes, kRegisterUnit);
  const std::size_t shared = up_to_multiple(launch.shared_bytes + figures.shared_reserved, kSharedUnit);
  const std::uint64_t resident = static_cast<std::uint64_t>(machine.threads_per_multiprocessor) / kLanes;
  const std::pair<std::uint64_t, const char*> limits[] = {
      {resident / warps, "warps"},
      {static_cast<std::uint64_t>(figures.blocks), "blocks"},
      // Registers are a scheduler's own.
      {static_cast<std::uint64_t>(figures.registers) / kSchedulers / registers * kSchedulers / warps, "registers"},
      {shared == 0 ? ~std::uint64_t{0} : machine.shared_per_multiprocessor / shared, "shared memory"}};
  const auto& least =
      *std::min_element(std::begin(limits), std::end(limits), [](const auto& a, const auto& b) { return a.first < b.first; });
  return {static_cast<int>(least.first), static_cast<int>(least.first * warps), least.second};
}

LaunchTime launch_time(const Machine& machine, const Launch& launch, const WarpWork& work, Kind kind) {
  const WarpFigures& figures = figures_of_warps(machine);
  LaunchTime time;
  time.occupancy = occupancy(machine, launch);
  if (time.occupancy.blocks == 0)
    throw std::invalid_argument(std::string("a block of this kernel does not fit on a multiprocessor: ") + time.occupancy.limit);
  const auto block_warps = static_cast<std::uint64_t>(warps_of(launch));
  const auto at_a_time = static_cast<std::uint64_t>(time.occupancy.blocks);
  const auto cards = static_cast<std::uint64_t>(machine.multiprocessors);
  // The multiprocessor with the most blocks is the last to be done: full waves, then what is left.
  const std::uint64_t most = divide_up(launch.blocks, cards);
  const std::uint64_t full = most / at_a_time, left = most % at_a_time;
  time.waves = static_cast<double>(launch.blocks) / static_cast<double>(cards * at_a_time);
  Cycles cycles = cycles_of(figures, work, (full > 0 ? at_a_time : left) * block_warps);
  double all = cycles.longest();
  if (full > 0) all = all * static_cast<double>(full) + (left > 0 ? cycles_of(figures, work, left * block_warps).longest() : 0);
  const double cycle = 1e3 / clock_ghz(machine);  // picoseconds

  const double bytes = work.sectors * kSector * static_cast<double>(launch.blocks * block_warps) * (1 - work.l1_hits);
  const double l2 = bytes * 1e3 / figures.l2_gb_s;
  const double memory =
      bytes * (1 - work.l2_hits) * 1e3 / (machine.memory_gb_s * machine.efficiency[static_cast<std::size_t>(kind)].memory);
  time.body = std::max({all * cycle, l2, memory});
  time.us = machine.kernel_us + time.body / kPicosecondsPerUs;
  if (time.us < 2 * machine.kernel_us)
    time.limit = "launch";
  else if (time.body == memory)
    time.limit = "memory";
  else if (time.body == l2)
    time.limit = "L2";
  else if (cycles.chain == cycles.longest())
    time.limit = "dependent chain";
  else
    time.limit = cycles.issue == cycles.longest() ? "issue" : "shared memory and L1";
  return time;
}

WarpWork work_of(const Machine& machine, const Launch& launch, Kind kind, double flops, double bytes) {
  const double warps = static_cast<double>(launch.blocks) * std::max(1, warps_of(launch));
  const double efficiency = machine.efficiency[static_cast<std::size_t>(kind)].compute[static_cast<std::size_t>(Arithmetic::fp32)];
  WarpWork work;
  work.instructions[kFp32] = flops / (2 * kLanes * efficiency * warps);
  work.sectors = bytes / kSector / warps;
  if (bytes > 0) work.chain[kMemory] = std::max(1.0, bytes / warps / figures_of_warps(machine).bytes_in_flight);
  return work;
}

}  // namespace lockstep::clock
