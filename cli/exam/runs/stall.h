// Faults of a running program: an operation of a GPU that waits (simulator/gpu/runtime/faults.h). Only the virtual GPU has them.
#pragma once

#include <cstdint>

namespace lockstep::cli {

void count_operations(int gpu);  // from now on
std::uint64_t counted_operations();
void stall_operation(int gpu, std::uint64_t which, int ms);  // counted from now on, from 1

}  // namespace lockstep::cli
