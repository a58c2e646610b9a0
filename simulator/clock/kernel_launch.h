// One launch of a kernel from what its warps do. A multiprocessor holds as many blocks as registers, shared memory, warps and slots allow;
// the others wait, so blocks run in waves. What a multiprocessor holds at a time takes as long as
//
//   the longest of: issuing its instructions, moving its sectors and passes, and a warp's longest dependent chain
//
// so a chain is hidden where enough warps are there to issue in that time (Hong and Kim, ISCA 2009; Volkov, "Understanding latency hiding
// on GPUs", 2016). The card's memory and L2 cache bound the whole. A pure function: the same launch, the same time.
#pragma once

#include <array>
#include <cstdint>

#include "simulator/clock/machine_model.h"

namespace lockstep::clock {

struct Launch {
  std::uint64_t blocks = 1;
  int threads = 32;              // of a block
  int registers = 32;            // of a thread, as ptxas reports them
  std::size_t shared_bytes = 0;  // of a block
};

// What a warp does, in the mean.
struct WarpWork {
  std::array<double, kIssueNames.size()> instructions{};  // by Issue
  double sectors = 0;                                     // of 32 bytes, that its requests touch in global memory
  double shared_passes = 0;                               // beyond one for each of its accesses to shared memory: bank conflicts
  double l1_hits = 0;                                     // of sectors
  double l2_hits = 0;                                     // of sectors that are not in L1
  std::array<double, kIssueNames.size()> chain{};  // instructions of the longest dependent chain; Issue::memory: loads from global memory
  double chain_shared = 0;                         // loads from shared memory in it
};

struct Occupancy {
  int blocks = 0;  // of a multiprocessor at a time; 0: the block does not fit
  int warps = 0;
  const char* limit = "";  // what allows no more
};
Occupancy occupancy(const Machine& machine, const Launch& launch);

struct LaunchTime {
  double us = 0;    // with the machine's kernel_us
  double body = 0;  // without, in picoseconds
  double waves = 0;
  Occupancy occupancy;
  const char* limit = "";  // "issue", "shared memory and L1", "dependent chain", "L2", "memory" or "launch"
};

// Throws std::invalid_argument where the block does not fit, and where the machine has no figures of warps.
LaunchTime launch_time(const Machine& machine, const Launch& launch, const WarpWork& work, Kind kind = Kind::streaming);

// Of a kernel of which only FLOPs and bytes are known: its arithmetic is fused multiply-adds in fp32 at the rate its kind reaches, its
// sectors are full and miss both caches, and a warp waits each time it has asked for as much as it has in flight.
WarpWork work_of(const Machine& machine, const Launch& launch, Kind kind, double flops, double bytes);

double clock_ghz(const Machine& machine);  // that the data sheet's fp32 peak is stated for

}  // namespace lockstep::clock
