// Registers that say where a thread is: %tid, %ctaid, %laneid and the like.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
  total_smem_size
};

struct SpecialRegister {
  std::string_view name;
  Special special;
  int bytes;
};
const std::vector<SpecialRegister>& special_registers();

// Clocks count warp instructions, so that a run is the same every time.
std::uint64_t special_value(const Warp& warp, Special special, int lane);
bool is_same_for_all_lanes(Special special);

}  // namespace lockstep::ptx
