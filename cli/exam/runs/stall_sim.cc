#include <fmt/format.h>

#include "cli/exam/runs/stall.h"
#include "simulator/gpu/runtime/faults.h"

namespace lockstep::cli {

void count_operations(int gpu) { sim::arm_faults(fmt::format("operation:0:device={}", gpu)); }

std::uint64_t counted_operations() { return sim::armed_faults().front().seen; }

void stall_operation(int gpu, std::uint64_t which, int ms) {
  sim::arm_faults(fmt::format("operation:{}:device={}:stall={}", which, gpu, ms));
}

}  // namespace lockstep::cli
