// A function ready to run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/instruction.h"
#include "simulator/gpu/ptx/syntax.h"

namespace lockstep::ptx {

// Functions that the device's library has and a module only declares.
inline constexpr std::int64_t kPrintf = -1, kAssertFail = -2;

// Where a variable of type .param is in a function's local memory, or in a kernel's parameters.
struct Placed {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

// What a statement was, for messages and counts.
struct Place {
  int line = 0;
  syntax::Location location;
  std::string opcode;
};

struct Code {
  std::string name;
  bool entry = false;
  int line = 0;
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> slots;  // what the instructions point into
  std::vector<Place> places;         // by statement

  // Registers: 32 lanes of each, then the numbers that stand in the program, 32 times each.
  std::uint32_t register_bytes = 0;
  std::vector<std::byte> constants;  // they follow the registers

  std::uint32_t local_bytes = 0;  // of one lane, of this function alone
  std::vector<Placed> parameters;
  std::vector<Placed> results;
  std::uint32_t parameter_bytes = 0;  // of a kernel
  std::uint32_t static_shared_bytes = 0;
  bool dynamic_shared = false;
  std::uint32_t dynamic_offset = 0;  // where dynamic shared memory begins
  std::vector<int> calls;            // functions that this one calls

  std::uint64_t stack_bytes = 0;  // of one lane, with everything it calls
  bool blocks_in_order = false;   // blocks can see each other's order: atomics in global memory, printf; also in what it calls
  std::array<std::int64_t, 3> required_threads{};
  std::int64_t most_threads = 0;
};

// The places at the start of all registers: what is written there is not read, and what is read there is 0.
inline constexpr std::uint32_t kSinkSlot = 0, kZeroSlot = 256, kFirstSlot = 512;

}  // namespace lockstep::ptx
