// The body of a function: scopes, registers, labels and instructions.
#pragma once

#include "simulator/gpu/ptx/syntax.h"
#include "simulator/gpu/ptx/token_reader.h"

namespace lockstep::ptx {

// From '{' to the '}' that belongs to it. Line information may name files that the module tells of later.
void parse_body(TokenReader& reader, syntax::Function& function);

// `.loc file line column, function_name ..., inlined_at ...`
syntax::Location parse_location(TokenReader& reader);

}  // namespace lockstep::ptx
