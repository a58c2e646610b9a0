// What each special register holds.
#include "simulator/gpu/ptx/special_registers.h"

namespace lockstep::ptx {

const std::vector<SpecialRegister>& special_registers() {
  static const std::vector<SpecialRegister> all = {{"%tid.x", Special::tid_x, 4},
                                                   {"%tid.y", Special::tid_y, 4},
                                                   {"%tid.z", Special::tid_z, 4},
                                                   {"%ntid.x", Special::ntid_x, 4},
                                                   {"%ntid.y", Special::ntid_y, 4},
                                                   {"%ntid.z", Special::ntid_z, 4},
                                                   {"%ctaid.x", Special::ctaid_x, 4},
                                                   {"%ctaid.y", Special::ctaid_y, 4},
                                                   {"%ctaid.z", Special::ctaid_z, 4},
                                                   {"%nctaid.x", Special::nctaid_x, 4},
                                                   {"%nctaid.y", Special::nctaid_y, 4},
                                                   {"%nctaid.z", Special::nctaid_z, 4},
                                                   {"%laneid", Special::laneid, 4},
                                                   {"%warpid", Special::warpid, 4},
                                                   {"%nwarpid", Special::nwarpid, 4},
                                                   {"%smid", Special::smid, 4},
                                                   {"%nsmid", Special::nsmid, 4},
                                                   {"%gridid", Special::gridid, 8},
                                                   {"%clock", Special::clock, 4},
                                                   {"%clock_hi", Special::clock_hi, 4},
                                                   {"%clock64", Special::clock64, 8},
                                                   {"%globaltimer", Special::globaltimer, 8},
                                                   {"%lanemask_eq", Special::lanemask_eq, 4},
                                                   {"%lanemask_le", Special::lanemask_le, 4},
                                                   {"%lanemask_lt", Special::lanemask_lt, 4},
                                                   {"%lanemask_ge", Special::lanemask_ge, 4},
                                                   {"%lanemask_gt", Special::lanemask_gt, 4},
                                                   {"%dynamic_smem_size", Special::dynamic_smem_size, 4},
                                                   {"%total_smem_size", Special::total_smem_size, 4}};
  return all;
}

bool is_same_for_all_lanes(Special special) {
  switch (special) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z:
    case Special::laneid:
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt:
      return false;
    default:
      return true;
  }
}

std::uint64_t special_value(const Warp& warp, Special special, int lane) {
  const Block& block = *warp.block;
  const Dim& threads = block.threads;
  const auto thread = static_cast<std::uint32_t>(warp.index * kLanes + lane);
  const Mask self = Mask{1} << lane;
  switch (special) {
    case Special::tid_x:
      return threads.x >= threads.volume() ? thread : thread % threads.x;
    case Special::tid_y:
      return thread / threads.x % threads.y;
    case Special::tid_z:
      return thread / threads.x / threads.y;
    case Special::ntid_x:
      return threads.x;
    case Special::ntid_y:
      return threads.y;
    case Special::ntid_z:
      return threads.z;
    case Special::ctaid_x:
      return block.index.x;
    case Special::ctaid_y:
      return block.index.y;
    case Special::ctaid_z:
      return block.index.z;
    case Special::nctaid_x:
      return block.grid.x;
    case Special::nctaid_y:
      return block.grid.y;
    case Special::nctaid_z:
      return block.grid.z;
    case Special::laneid:
      return static_cast<std::uint32_t>(lane);
    case Special::warpid:
      return static_cast<std::uint32_t>(warp.index);
    case Special::nwarpid:
      return 32;  // those of a multiprocessor that holds 1024 threads
    case Special::smid:
      return (block.index.x + std::uint64_t{block.grid.x} * (block.index.y + std::uint64_t{block.grid.y} * block.index.z)) % 40;
    case Special::nsmid:
      return 40;  // a T4's
    case Special::gridid:
      return block.launched;
    case Special::clock:
      return warp.instructions & 0xffffffffU;
    case Special::clock_hi:
      return warp.instructions >> 32;
    case Special::clock64:
    case Special::globaltimer:
      return warp.instructions;
    case Special::lanemask_eq:
      return self;
    case Special::lanemask_le:
      return self | (self - 1);
    case Special::lanemask_lt:
      return self - 1;
    case Special::lanemask_ge:
      return static_cast<Mask>(~(self - 1));
    case Special::lanemask_gt:
      return static_cast<Mask>(~(self | (self - 1)));
    case Special::dynamic_smem_size:
      return block.dynamic_shared_bytes;
    case Special::total_smem_size:
      return block.shared_bytes;
  }
  return 0;
}

}  // namespace lockstep::ptx
