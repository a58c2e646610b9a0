// Instructions as the machine runs them, and the table of operations they are made from.
//
// A module is decoded once. What is left to do when a warp runs is to call a function with the places of its operands: no names, no maps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/gpu/ptx/types.h"

namespace lockstep::ptx {

struct Warp;
struct Instruction;

using Mask = std::uint32_t;  // a bit for each lane
inline constexpr int kLanes = 32;
inline constexpr Mask kAllLanes = ~Mask{0};

// Does an instruction for the lanes of the mask, of which there is at least one.
using Execute = void (*)(Warp& warp, const Instruction& instruction, Mask mask);

// What the counts tell apart.
enum class Kind : std::uint8_t {
  integer,
  floating,
  double_precision,
  half,
  special_function,
  conversion,
  compare,
  move,
  load,
  store,
  atomic,
  exchange,
  barrier,
  control
};
inline constexpr int kKinds = 14;
std::string_view name_of(Kind kind);

// What the loop that runs a warp does itself.
enum class Control : std::uint8_t { none, branch, branch_table, call, finish, exit, join, block_barrier, warp_barrier };

// What stands at one place of an instruction's operands.
struct Parameter {
  enum class Role : std::uint8_t { write, read, address, source, target, function, table, list, symbol };
  Role role = Role::read;
  int bytes = 4;                  // of the register; 0: a predicate
  int count = 1;                  // registers in braces
  bool floating = false;          // which numbers may stand here
  bool optional = false;          // may be left out: then it is 0
  bool in_braces = false;         // in braces though there is one
  bool beside_predicate = false;  // d|p: two places, of which the second is a predicate and may be left out
};

struct Operation {
  std::string name;  // canonical: "add.s32", "ld.global.v2.u8/4" (registers of 4 bytes)
  Kind kind = Kind::integer;
  Execute execute = nullptr;
  std::vector<Parameter> parameters;
  Control control = Control::none;
  Space space = Space::none;
  std::uint8_t vector = 1;   // elements of a load or store
  std::uint8_t bytes = 0;    // of one element in memory
  std::uint8_t mode = 0;     // for functions that several operations share
  std::uint32_t detail = 0;  // the same, where more is to be said
};

class Table {
 public:
  void add(Operation operation);
  const Operation* find(const std::string& name) const;
  const std::vector<Operation>& all() const { return operations_; }

 private:
  std::vector<Operation> operations_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// Everything the machine can do.
const Table& operations();

struct Instruction {
  Execute execute = nullptr;
  const std::uint32_t* slots = nullptr;  // where the operands are: bytes from the start of the registers
  std::int64_t offset = 0;               // of an address; of a branch, the instruction it goes to; of a call, the function
  const Operation* operation = nullptr;
  std::uint32_t guard = 0;  // the slot of the predicate
  std::uint32_t place = 0;  // the statement, for messages and counts
  enum class Guard : std::uint8_t { none, when, unless } guarded = Guard::none;
  Control control = Control::none;
  Space space = Space::none;
  bool in_frame = false;        // the address is relative to the function's own local memory
  bool narrow_address = false;  // the base is a register of 32 bits
};

}  // namespace lockstep::ptx
