// PTX text as a syntax::Module. Throws one Error with the line for text that is not PTX, and for directives the machine does not know.
#pragma once

#include <string_view>

#include "simulator/gpu/ptx/syntax.h"

namespace lockstep::ptx {

syntax::Module parse(std::string_view source);

}  // namespace lockstep::ptx
