// What an ELF file says of itself that matters before it is started: which libraries it wants and which code for a GPU it carries.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "simulator/gpu/nvidia/image/fat_binary.h"

namespace lockstep::nvidia {

struct ElfProgram {
  std::vector<std::string> needed;  // libraries, as DT_NEEDED names them
  bool has_gpu_code = false;        // a section .nv_fatbin that is not empty
  std::vector<FatEntry> entries;    // of all its fat binaries, inside `file`
};

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path);  // none where it can't be read

bool is_elf(std::span<const std::byte> file);

// A 64-bit little-endian ELF file. Throws ptx::Error where it is cut off or lies about its sizes.
ElfProgram read_elf_program(std::span<const std::byte> file);

// Names of the weak functions that a shared library exports.
std::set<std::string> weak_functions(std::span<const std::byte> file);

}  // namespace lockstep::nvidia
