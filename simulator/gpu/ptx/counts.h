// What warps did: instructions by kind, lanes that took part, how accesses to memory fall into sectors and banks.
//
// A request is one load, store or atomic of a warp. Global memory moves in sectors of 32 bytes: `sectors` are those that a request touches
// and `fewest` those that could hold the bytes it asks for. Shared memory has 32 banks of 4 bytes: `passes` are what a request takes there
// and `fewest_passes` what it takes without conflicts (lanes of 8 bytes go in two halves, of 16 bytes in four quarters). Lanes that do an
// atomic at the same place take turns: `turns` is the longest queue.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/code.h"
#include "simulator/gpu/ptx/module.h"
#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

struct Count {
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t lanes = 0;         // that took part in them
  std::array<std::uint64_t, kKinds> by_kind{};
  std::uint64_t branches = 0, divergent = 0;
  std::uint64_t requests = 0, sectors = 0, fewest = 0;
  std::uint64_t shared_requests = 0, passes = 0, fewest_passes = 0;
  std::uint64_t atomics = 0, turns = 0;
  std::array<std::uint64_t, 7> bytes{};  // by Space

  Count& operator+=(const Count& other);
  std::uint64_t bytes_of(Space space) const { return bytes[static_cast<std::size_t>(space)]; }
};

class Counts {
 public:
  void add(const Counts& other);  // from any thread

  void note(const Code& code, const Instruction& instruction, Warp& warp, Mask active);
  void note_control(const Code& code, const Instruction& instruction, Warp& warp, Mask active, Mask path);

  Count total() const;
  Count of(const Code& code) const;
  Count at_line(const Code& code, int ptx_line) const;

  struct SourceLine {
    std::string file;  // empty where the module has no line information
    int line = 0;      // of the source, or of the PTX
    Count count;
  };
  std::vector<SourceLine> by_line(const Module& module, const Code& code) const;

 private:
  Count& at(const Code& code, const Instruction& instruction);
  void note_access(Count& count, const Instruction& instruction, Warp& warp, Mask active);

  std::mutex mutex_;                                  // of `add`
  std::map<const Code*, std::vector<Count>> counts_;  // by statement
  const Code* last_ = nullptr;
  std::vector<Count>* last_counts_ = nullptr;
};

// The rules alone, for addresses of lanes. Lanes that are not in the mask do not count.
std::uint64_t sectors_touched(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask);
std::uint64_t fewest_sectors(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask);
std::uint64_t bank_passes(const std::uint64_t (&addresses)[kLanes], unsigned bytes, Mask mask);
std::uint64_t fewest_bank_passes(unsigned bytes, Mask mask);
std::uint64_t longest_queue(const std::uint64_t (&addresses)[kLanes], Mask mask);

}  // namespace lockstep::ptx
