// From what each thread of a warp did to what the warp asked of memory.
//
// On a GPU the 32 threads of a warp run one instruction at a time, together; the emulator runs them one after another and writes down
// where each went. Replaying puts them side by side again: of all threads' next steps those in the innermost call, and there at the lowest
// address of the program, go first, and all threads that stand at the same step take it together. Steps are accesses and basic blocks, and
// the compiler is told to lay blocks out in the order of the source; so threads that leave a loop early, or skip a branch, wait behind it
// for the others, as they do on a GPU (Collange 2011, "Stack-less SIMT reconvergence at low cost", has the same rule in hardware).
//
// Its limits: a compiler that moves a branch behind the code that follows it makes threads meet later than on a GPU (more requests with
// fewer lanes each); nvcc may keep in a register, join or unroll what g++ does not; and threads of different warps never share a request,
// so what a cache saves between requests is not seen: sectors are what leaves the warps, not what reaches memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace lockstep::coalescing {

inline constexpr int kWarp = 32;
inline constexpr std::uint64_t kSector = 32;  // bytes that a GPU's caches move at once

// What a thread did: came to a basic block (bytes is 0) or touched memory.
struct Step {
  std::uint64_t address = 0;
  std::uint32_t place = 0;  // in the program
  std::uint8_t depth = 0;   // of calls
  std::uint8_t bytes = 0;
  std::uint8_t view = 0;  // which argument of the kernel the memory belongs to
  bool write = false;
};
using Trace = std::vector<Step>;

// One instruction of a warp that touches memory, with the lanes that took part.
struct Request {
  std::uint64_t addresses[kWarp];
  int lanes = 0;
  std::uint32_t bytes = 0;  // that each lane asks for
  std::uint8_t view = 0;
  bool write = false;
};

struct Traffic {
  std::uint64_t sectors = 0;  // touched
  std::uint64_t least = 0;    // that could hold the bytes asked for; what several lanes ask for counts once
};
Traffic traffic_of(const Request& request);

// The requests of a warp, from the traces of its threads (at most 32).
void replay_warp(const Trace* traces, int threads, const std::function<void(const Request&)>& each);

}  // namespace lockstep::coalescing
