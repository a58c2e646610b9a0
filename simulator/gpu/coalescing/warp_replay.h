// From what each thread of a warp did to what the warp asked of memory.
//
// On a GPU the 32 threads of a warp run one instruction at a time, together; the emulator runs them one after another and writes down
// where each went: basic blocks, and accesses in them. Replaying puts them side by side again, as a GPU does: threads in the same block go
// through it together, and where they part each group goes its way to the block where all ways meet again (the immediate post-dominator in
// the graph of what the kernel's threads have done), and waits there for the others (Fung and others 2007, "Dynamic Warp Formation",
// section 2).
//
// Its limits: nvcc may keep in a register, join or unroll what g++ does not, and turn a branch into a select. And threads of different
// warps never share a request, so what a cache saves between requests is not seen: sectors are what leaves the warps, not what reaches
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/gpu/coalescing/flow_graph.h"

namespace lockstep::coalescing {

inline constexpr int kWarp = 32;
inline constexpr std::uint64_t kSector = 32;  // bytes that a GPU's caches move at once

// What a thread did: came to a basic block (bytes is 0) or touched memory.
struct Step {
  std::uint64_t address = 0;
  std::uint32_t place = 0;  // of an access: in the program; of a block: its node
  std::uint8_t bytes = 0;
  std::uint8_t view = 0;  // which argument of the kernel the memory belongs to
  bool write = false;
};
using Trace = std::vector<Step>;  // begins with a block, unless it is empty

// One instruction of a warp that touches memory, with the lanes that took part.
struct Request {
  std::uint64_t addresses[kWarp];
  int lanes = 0;
  std::uint32_t bytes = 0;  // that each lane asks for
  std::uint8_t view = 0;
  bool write = false;
};

struct SectorCount {
  std::uint64_t touched = 0;
  std::uint64_t least = 0;  // that could hold the bytes asked for; what several lanes ask for counts once
};
SectorCount sectors_of(const Request& request);

// Adds the ways of a thread to the graph.
void learn(FlowGraph& graph, const Trace& trace);

// The requests of a warp, from the traces of its threads (at most 32), all of which the graph has learnt.
void replay_warp(FlowGraph& graph, const Trace* traces, int threads, const std::function<void(const Request&)>& each);

}  // namespace lockstep::coalescing
