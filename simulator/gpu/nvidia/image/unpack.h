// Decompression of what nvcc compresses: LZ4 blocks (-compress-mode speed) and zstd frames (the other modes).
//
// LZ4 is read here. zstd is taken from libzstd.so.1, loaded when it is first needed: a program that runs without it needs no such package.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "simulator/gpu/nvidia/image/fat_binary.h"

namespace lockstep::nvidia {

inline constexpr std::size_t kMostUnpackedBytes = std::size_t{256} << 20;  // more than any PTX that nvcc made so far

// Exactly `bytes` bytes, or a ptx::Error.
std::string unpack(Packing packing, std::span<const std::byte> packed, std::size_t bytes);

}  // namespace lockstep::nvidia
