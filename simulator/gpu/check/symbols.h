// Names of functions, also of those that a program does not export: read from the symbol tables of its files.
#pragma once

#include <string>

namespace lockstep::sim {

// The readable name of the function at this address; empty when there is none. Slow; made for messages.
std::string symbol_at(const void* address);

}  // namespace lockstep::sim
