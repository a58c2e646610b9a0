// From the syntax of a function to code. Everything the machine cannot do is refused here, with instruction and line.
#pragma once

#include <map>
#include <string>

#include "simulator/gpu/ptx/code.h"
#include "simulator/gpu/ptx/syntax.h"

namespace lockstep::ptx {

// What names outside a function stand for.
struct Symbols {
  struct Symbol {
    Space space = Space::none;
    std::uint64_t address = 0;  // of the host for global and constant memory
    const syntax::Variable* variable = nullptr;
  };
  std::map<std::string, Symbol> variables;
  std::map<std::string, int> functions;
  const syntax::Module* module = nullptr;
};

Code decode(const syntax::Function& function, const Symbols& symbols);

}  // namespace lockstep::ptx
