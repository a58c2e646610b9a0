// 32 lanes side by side: what an operation sees while it runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/instruction.h"

namespace lockstep::ptx {

class Checks;
struct Code;

// Generic addresses: these bits say shared or local; everything else is an address of the host, which global and constant memory are.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << 60;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << 60;
inline constexpr std::uint64_t kWindowMask = std::uint64_t{15} << 60;

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
};

// Bytes of global memory that lie together, and where they are on the host.
struct Region {
  std::uint64_t address = 0, bytes = 0;
  std::byte* data = nullptr;

  std::byte* find(std::uint64_t at, std::uint64_t n) const {
    return at >= address && at - address <= bytes && bytes - (at - address) >= n ? data + (at - address) : nullptr;
  }
};

// All that a kernel may touch besides its module's variables and its parameters. Blocks ask it from several threads.
class GlobalMemory {
 public:
  virtual ~GlobalMemory() = default;
  // The region around an address; where there is none, `why` ends a sentence about the access: "which is in no allocation".
  virtual std::optional<Region> region(std::uint64_t address, std::string& why) const = 0;
};

// What all warps of a block share.
struct Block {
  Dim grid, threads;
  Dim index;
  std::byte* shared = nullptr;
  std::uint64_t shared_bytes = 0, dynamic_shared_bytes = 0;
  std::byte* parameters = nullptr;
  std::uint64_t parameter_bytes = 0;
  const GlobalMemory* memory = nullptr;  // null: every global address is believed
  std::vector<Region> regions;           // of its own, then those that were found in `memory`
  std::size_t last_region = 0;
  std::uint64_t launched = 0;  // a number for this launch: %gridid
  std::string* printed = nullptr;
};

// What cp.async has read and not yet written: a thread sees it in shared memory when it has waited for the group of the copy.
struct PendingCopy {
  const Instruction* instruction = nullptr;
  int lane = 0;
  std::uint32_t group = 0;  // of its lane, counted from 0
  std::byte* to = nullptr;
  unsigned bytes = 0;
  std::array<std::byte, 16> value{};
};

struct Warp {
  std::byte* registers = nullptr;  // of the function that runs
  Block* block = nullptr;
  const Code* code = nullptr;     // the function
  Checks* checks = nullptr;       // null: check mode is off
  std::byte* local = nullptr;     // of lane 0; the other lanes' follow
  std::uint64_t local_bytes = 0;  // of one lane
  std::uint64_t frame_local = 0;  // where the running function's local memory begins
  Mask carry = 0;                 // the condition code, by lane
  Mask member = 0;                // lanes that are threads of the block
  Mask exited = 0;
  int index = 0;  // in the block
  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, kLanes> groups{};  // of copies that each lane has committed
  std::uint64_t instructions = 0;              // so far, in this launch: %clock

  template <typename T>
  T* lanes(std::uint32_t slot) {
    return reinterpret_cast<T*>(registers + slot);
  }
  Mask& predicate(std::uint32_t slot) { return *reinterpret_cast<Mask*>(registers + slot); }
};

// Something went wrong in a lane; the machine adds which kernel, thread and line it was.
struct Fault {
  int lane;
  std::string what;
  Failure failure = Failure::other;
};

}  // namespace lockstep::ptx
