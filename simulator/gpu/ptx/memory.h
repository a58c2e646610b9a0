// From addresses of a warp's lanes to bytes of the host, with what a GPU would refuse refused.
#pragma once

#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

// The addresses of an instruction whose base is in `slot`, in `space`; nothing is checked.
void addresses_of(Warp& warp, const Instruction& instruction, std::uint32_t slot, std::uint64_t (&addresses)[kLanes]);

// Where `bytes` bytes at an address of a lane are. A Fault where the address is none, misaligned or outside.
std::byte* located(const Warp& warp, Space space, std::uint64_t address, unsigned bytes, int lane);

// The same for all lanes of the mask: `one`: all at one place; `row`: all 32, side by side.
enum class Pattern { any, one, row };
Pattern locate(Warp& warp, const Instruction& instruction, std::uint32_t slot, unsigned bytes, Mask mask, std::byte* (&places)[kLanes]);

// Which memory a generic address means.
Space space_of(std::uint64_t address);

}  // namespace lockstep::ptx
