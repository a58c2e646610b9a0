// What the parser reads: a module as it is written, with names of registers resolved and everything else left to later steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulator/gpu/ptx/types.h"

namespace lockstep::ptx::syntax {

struct Operand {
  enum class Kind : std::uint8_t {
    reg,       // index: into the function's registers
    variable,  // index: into the function's variables; offset
    symbol,    // name of something outside the function, or a label; offset
    special,   // name, such as %tid.x
    integer,   // bits
    real32,    // bits
    real64,    // bits
    address,   // parts[0] is the base; offset
    vector,    // {a, b} and the pair a|b
    list,      // (a, b) of a call
    sink       // _
  };
  Kind kind = Kind::sink;
  bool negated = false;  // !%p
  int index = -1;
  std::int64_t offset = 0;
  std::uint64_t bits = 0;
  std::string name;
  std::vector<Operand> parts;
};

// A line of the program's source: a number of a .file and a line in it. 0 where the module does not say.
struct Location {
  int file = 0;
  int line = 0;
};

struct Statement {
  int line = 0;  // of the PTX
  Location location;
  int guard = -1;  // a predicate register
  bool guard_negated = false;
  std::string opcode;  // with all modifiers: "ld.global.v4.f32"
  std::vector<Operand> operands;
};

// A value inside an initialised variable: bytes, or an address.
struct Initial {
  std::uint64_t bits = 0;
  std::string symbol;  // its address plus bits; empty: bits alone
  bool generic = false;
};

struct Variable {
  std::string name;
  Space space = Space::none;
  Type type = Type::b8;
  std::int64_t align = 1;
  std::int64_t bytes = 0;
  bool unsized = false;   // .extern .shared name[]: as large as the launch says
  bool external = false;  // defined in another module
  std::vector<Initial> initial;
  int line = 0;
};

struct Function {
  std::string name;
  int line = 0;
  bool entry = false;
  bool defined = false;
  std::vector<Variable> parameters;
  std::vector<Variable> results;
  std::vector<Type> registers;
  std::vector<Variable> variables;  // .shared, .local, .param of the body
  std::vector<Statement> statements;
  std::map<std::string, int> labels;                         // the statement that follows
  std::map<std::string, std::vector<std::string>> branches;  // .branchtargets
  std::array<std::int64_t, 3> required_threads{};            // .reqntid; 0 where there is none
  std::int64_t most_threads = 0;                             // .maxntid
};

struct Module {
  int version = 0;  // 90 is 9.0
  int target = 0;   // 75 is sm_75
  std::map<int, std::string> files;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

}  // namespace lockstep::ptx::syntax
