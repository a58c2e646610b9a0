// What nvcc puts into a program for the GPU: a fat binary, which holds the same code as machine code and as PTX for several GPUs.
//
// The format is not documented by NVIDIA; this is what the toolkits 12.4 to 13.0 write. All numbers are little-endian.
//
//   image   u32 0xba55ed50, u16 1, u16 bytes of this header (16), u64 bytes of all entries
//   entry   u16 kind, u16 0x0101, u32 bytes of this header (64 or more), u64 bytes of the content, padded to 8,
//           u32 compressed bytes, u32, u16 minor and u16 major version of PTX, u32 architecture, u32 and u32: name of the source,
//           u64 flags at 40, u64, u64 bytes after decompression at 56
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lockstep::nvidia {

enum class Packing { plain, lz4, zstd };

struct FatEntry {
  bool ptx = false;      // otherwise machine code, which the virtual GPU does not run
  int architecture = 0;  // 75 is compute_75
  Packing packing = Packing::plain;
  std::span<const std::byte> content;  // inside the image
  std::size_t unpacked_bytes = 0;
};

// The entries of one image; other kinds than PTX and machine code are left out. Throws ptx::Error where the image is not whole.
std::vector<FatEntry> read_fat_binary(std::span<const std::byte> image);

// A section .nv_fatbin: images one after the other, aligned to 8 bytes.
std::vector<FatEntry> read_fat_section(std::span<const std::byte> section);

// The PTX with the highest architecture not above the device's; null: there is none.
const FatEntry* best_ptx(std::span<const FatEntry> entries, int architecture);

// What `best_ptx` would need, as a part of a sentence: "PTX for compute_80, machine code for sm_75".
std::string describe(std::span<const FatEntry> entries);

// The text of an entry with PTX. Throws ptx::Error where it can't be decompressed.
std::string ptx_text(const FatEntry& entry);

}  // namespace lockstep::nvidia
