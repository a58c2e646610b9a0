// The value of --algorithm.
#pragma once

#include <string>

#include "simulator/clock/collectives.h"

namespace lockstep::cli {

clock::Allowed allowed_algorithms(const std::string& name);  // empty: all

}  // namespace lockstep::cli
