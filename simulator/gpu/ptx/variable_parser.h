// Declarations of variables, parameters and registers.
#pragma once

#include <string>
#include <vector>

#include "simulator/gpu/ptx/syntax.h"
#include "simulator/gpu/ptx/token_reader.h"

namespace lockstep::ptx {

inline constexpr std::int64_t kMostVariableBytes = std::int64_t{1} << 30;
inline constexpr int kMostRegisters = 1 << 17;  // of a function

// `.align 8 .b8 name[16] = {...}` after its state space. With `list`, more names may follow after commas, until the semicolon.
std::vector<syntax::Variable> parse_variables(TokenReader& reader, Space space, bool external, bool list);

struct RegisterNames {
  Type type;
  std::string name;
  int count;  // of %r<39>; -1: the name itself
};
// `.b32 %r<39>, %x;` after `.reg`.
std::vector<RegisterNames> parse_registers(TokenReader& reader);

}  // namespace lockstep::ptx
