// From addresses of a warp's lanes to bytes of the host, with what a GPU would refuse refused.
#pragma once

#include "simulator/gpu/ptx/warp.h"

namespace lockstep::ptx {

// The addresses of an instruction whose base is in `slot`, in `space`; nothing is checked.
void addresses_of(Warp& warp, const Instruction& instruction, std::uint32_t slot, std::uint64_t (&addresses)[kLanes]);

// Where `bytes` bytes at an address of a lane are. A Fault where the address is none, misaligned or outside.
std::byte* located(const Warp& warp, Space space, std::uint64_t address, unsigned bytes, int lane);

// The same for all lanes of the mask.
struct Places {
  enum class Pattern { any, one, row };  // `one`: all at `base`; `row`: lane i at base + i * bytes
  Pattern pattern = Pattern::any;
  std::uintptr_t base = 0;
  std::byte* of[kLanes];  // of `any`
  template <Pattern kPattern>
  std::byte* at(int lane, std::size_t bytes) const {
    if constexpr (kPattern == Pattern::any) return of[lane];
    return reinterpret_cast<std::byte*>(base + (kPattern == Pattern::row ? static_cast<std::size_t>(lane) * bytes : 0));
  }
};
void locate(Warp& warp, const Instruction& instruction, std::uint32_t slot, unsigned bytes, Mask mask, Places& places);

// Which memory a generic address means.
Space space_of(std::uint64_t address);

}  // namespace lockstep::ptx
