#include "simulator/gpu/nvidia/image/elf_program.h"

#include <elf.h>

#include <cstring>

#include "simulator/gpu/ptx/error.h"

namespace lockstep::nvidia {

namespace {

using ptx::Error;

std::span<const std::byte> part(std::span<const std::byte> file, std::uint64_t offset, std::uint64_t bytes, const char* what) {
  if (offset > file.size() || bytes > file.size() - offset)
    throw Error(std::string("The program is cut off: its ") + what + " is not all there.");
  return file.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
}

template <typename T>
T record_at(std::span<const std::byte> bytes, std::uint64_t index, std::uint64_t stride, const char* what) {
  T record;
  std::memcpy(&record, part(bytes, index * stride, sizeof(T), what).data(), sizeof(T));
  return record;
}

std::string text_at(std::span<const std::byte> strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::span<const std::byte> rest = strings.subspan(static_cast<std::size_t>(offset));
  return {reinterpret_cast<const char*>(rest.data()), strnlen(reinterpret_cast<const char*>(rest.data()), rest.size())};
}

}  // namespace

bool is_elf(std::span<const std::byte> file) { return file.size() >= SELFMAG && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0; }

ElfProgram read_elf_program(std::span<const std::byte> file) {
  const auto header = record_at<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr), "header");
  if (!is_elf(file) || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    throw Error("This is not a 64-bit little-endian ELF program.");
  }
  ElfProgram program;
  const std::uint64_t stride = header.e_shentsize;
  if (header.e_shnum == 0) return program;
  if (stride < sizeof(Elf64_Shdr))
    throw Error("The program is damaged: its table of sections has entries of " + std::to_string(stride) + " bytes.");
  const auto table = part(file, header.e_shoff, stride * header.e_shnum, "table of sections");
  const auto section = [&](std::uint64_t index) { return record_at<Elf64_Shdr>(table, index, stride, "table of sections"); };
  const auto content = [&](const Elf64_Shdr& one) {
    return one.sh_type == SHT_NOBITS ? std::span<const std::byte>{} : part(file, one.sh_offset, one.sh_size, "content");
  };
  const auto names = header.e_shstrndx < header.e_shnum ? content(section(header.e_shstrndx)) : std::span<const std::byte>{};
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (text_at(names, one.sh_name) == ".nv_fatbin" && one.sh_size > 0) {
      program.has_gpu_code = true;
      const std::vector<FatEntry> entries = read_fat_section(content(one));
      program.entries.insert(program.entries.end(), entries.begin(), entries.end());
    }
    if (one.sh_type == SHT_DYNAMIC && one.sh_link < header.e_shnum) {
      const auto dynamic = content(one), strings = content(section(one.sh_link));
      for (std::uint64_t k = 0; (k + 1) * sizeof(Elf64_Dyn) <= dynamic.size(); ++k) {
        const auto tag = record_at<Elf64_Dyn>(dynamic, k, sizeof(Elf64_Dyn), "dynamic section");
        if (tag.d_tag == DT_NEEDED) program.needed.push_back(text_at(strings, tag.d_un.d_val));
      }
    }
  }
  return program;
}

}  // namespace lockstep::nvidia
