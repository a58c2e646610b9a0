// Runs kernels of a module on memory of the host, a block after the other, a warp after the other: what comes out depends on the program
// alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/module.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

class Counts;

// What every GPU from sm_75 to sm_90 takes.
inline constexpr std::uint64_t kMostThreads = 1024, kMostGridX = 0x7fffffff, kMostGridYZ = 65535, kMostBlockZ = 64;

struct Launch {
  Dim grid, block;
  std::uint32_t shared_bytes = 0;         // dynamic ones
  std::span<const std::byte> parameters;  // packed as the kernel declares them
  const GlobalMemory* memory = nullptr;   // null: every address is the host's, and is not checked
  std::uint64_t budget = 0;               // most warp instructions of one call of launch or run_blocks; 0: no end
  std::string* printed = nullptr;         // what printf prints; null: standard output
  Counts* counts = nullptr;               // null: nothing is counted
  Checks* checks = nullptr;               // null: check mode is off; else blocks come in order, one at a time
};

// Runs the whole grid. Throws Error for a launch that no GPU takes and for what goes wrong in a thread: which kernel, block, thread and
// line.
void launch(const Module& module, const Code& kernel, const Launch& launch);

// The same in parts: first what no GPU takes, then blocks first ... last - 1, counted along x, then y, then z. Parts may run on several
// threads at once; where the kernel says blocks_in_order they have to come in order, one at a time.
void check(const Code& kernel, const Launch& launch);
void run_blocks(const Module& module, const Code& kernel, const Launch& launch, std::uint64_t first, std::uint64_t last);

}  // namespace lockstep::ptx
