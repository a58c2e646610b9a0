// What the virtual GPU knows of a launched kernel beyond what CUDA tells: why it failed, and what its warps did.
// CUDA twin: engine/cuda/backend/findings.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Counts of warps at one line of the source (simulator/gpu/ptx/counts.h says what each is); line 0: the whole kernel.
struct CountedLine {
  std::string file;
  int line = 0;
  std::uint64_t instructions = 0, lanes = 0, branches = 0, divergent = 0, sectors = 0, fewest_sectors = 0, passes = 0, fewest_passes = 0,
                atomics = 0, turns = 0;
};

// From now on launches of this CUfunction are counted. False: this GPU can't.
bool count_launches(const void* function);
// The last launch of it, which has ended: the whole kernel, then its lines.
std::vector<CountedLine> last_counts(const void* function);

// Why the device is in its error state: kernel, block, thread, line. Empty: it is not, or not known.
std::string fault_of_device(int device);

}  // namespace lockstep
