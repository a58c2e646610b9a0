// Where a kernel finds itself while it runs: its block, its thread, and the others of the block.
//
// One compiled kernel serves two modes, chosen for each launch:
// - fast: one thread a block, a block a part of the launch; loops are contiguous and barriers are nothing.
// - faithful: grid and block as launched, every thread a fiber, real barriers.
#pragma once

#include <cstdint>

#include <backend/cost.h>

namespace lockstep::sim {

// The other threads of a block in faithful mode. File and line identify a barrier.
class BlockThreads {
 public:
  virtual ~BlockThreads() = default;
  virtual void barrier(const char* file, int line) = 0;
  virtual void warp_barrier(std::uint32_t mask, const char* file, int line) = 0;
  // Gives `value` to the warp and returns that of lane `source`; `value` itself where there is no such lane.
  virtual std::uint64_t shuffle(std::uint32_t mask, std::uint64_t value, int source, const char* file, int line) = 0;
};

struct KernelContext {
  BlockThreads* threads = nullptr;  // null in fast mode
  std::int64_t block = 0, blocks = 1;
  std::int64_t thread = 0, block_threads = 1;
};
extern constinit thread_local KernelContext kernel_context;

// A coordinate that kernels may read only; the runtime replaces the whole.
struct Coordinates {
  const unsigned x = 0, y = 0, z = 0;
};

void set_block(Coordinates grid, Coordinates block_size, Coordinates block);
void set_thread(Coordinates thread);

struct LaunchNote {
  const char* name = nullptr;
  Cost cost;
};
LaunchNote take_launch_note();  // what annotate_next_launch left for this thread

}  // namespace lockstep::sim

extern constinit thread_local lockstep::sim::Coordinates threadIdx;
extern constinit thread_local lockstep::sim::Coordinates blockIdx;
extern constinit thread_local lockstep::sim::Coordinates blockDim;
extern constinit thread_local lockstep::sim::Coordinates gridDim;
inline constexpr int warpSize = 32;
