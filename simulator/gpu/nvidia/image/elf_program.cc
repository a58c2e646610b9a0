#include "simulator/gpu/nvidia/image/elf_program.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

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

std::vector<std::byte> bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* const first = reinterpret_cast<const std::byte*>(chars.data());
  return {first, first + chars.size()};
}

bool is_elf(std::span<const std::byte> file) { return file.size() >= SELFMAG && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0; }

namespace {

// The sections of a file, each with its content.
class Sections {
 public:
  explicit Sections(std::span<const std::byte> file) : file_(file), header_(record_at<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr), "header")) {
    if (!is_elf(file) || header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      throw Error("This is not a 64-bit little-endian ELF program.");
    }
    if (header_.e_shnum > 0 && header_.e_shentsize < sizeof(Elf64_Shdr)) {
      throw Error("The program is damaged: its table of sections has entries of " + std::to_string(header_.e_shentsize) + " bytes.");
    }
    table_ = part(file, header_.e_shoff, std::uint64_t{header_.e_shentsize} * header_.e_shnum, "table of sections");
    names_ = content_of(header_.e_shstrndx);
  }
  std::uint64_t count() const { return header_.e_shnum; }
  Elf64_Shdr at(std::uint64_t i) const { return record_at<Elf64_Shdr>(table_, i, header_.e_shentsize, "table of sections"); }
  std::string name(const Elf64_Shdr& one) const { return text_at(names_, one.sh_name); }
  std::span<const std::byte> content(const Elf64_Shdr& one) const {
    return one.sh_type == SHT_NOBITS ? std::span<const std::byte>{} : part(file_, one.sh_offset, one.sh_size, "content");
  }
  std::span<const std::byte> content_of(std::uint64_t i) const { return i < count() ? content(at(i)) : std::span<const std::byte>{}; }

 private:
  std::span<const std::byte> file_;
  Elf64_Ehdr header_;
  std::span<const std::byte> table_, names_;
};

}  // namespace

ElfProgram read_elf_program(std::span<const std::byte> file) {
  const Sections sections(file);
  ElfProgram program;
  for (std::uint64_t i = 0; i < sections.count(); ++i) {
    const Elf64_Shdr one = sections.at(i);
    if (sections.name(one) == ".nv_fatbin" && one.sh_size > 0) {
      program.has_gpu_code = true;
      const std::vector<FatEntry> entries = read_fat_section(sections.content(one));
      program.entries.insert(program.entries.end(), entries.begin(), entries.end());
    }
    if (one.sh_type != SHT_DYNAMIC) continue;
    const auto dynamic = sections.content(one), strings = sections.content_of(one.sh_link);
    for (std::uint64_t k = 0; (k + 1) * sizeof(Elf64_Dyn) <= dynamic.size(); ++k) {
      const auto tag = record_at<Elf64_Dyn>(dynamic, k, sizeof(Elf64_Dyn), "dynamic section");
      if (tag.d_tag == DT_NEEDED) program.needed.push_back(text_at(strings, tag.d_un.d_val));
    }
  }
  return program;
}

std::set<std::string> weak_functions(std::span<const std::byte> file) {
  const Sections sections(file);
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < sections.count(); ++i) {
    const Elf64_Shdr one = sections.at(i);
    if (one.sh_type != SHT_DYNSYM) continue;
    const auto symbols = sections.content(one), strings = sections.content_of(one.sh_link);
    for (std::uint64_t k = 0; (k + 1) * sizeof(Elf64_Sym) <= symbols.size(); ++k) {
      const auto symbol = record_at<Elf64_Sym>(symbols, k, sizeof(Elf64_Sym), "table of symbols");
      if (ELF64_ST_BIND(symbol.st_info) == STB_WEAK && symbol.st_shndx != SHN_UNDEF) names.insert(text_at(strings, symbol.st_name));
    }
  }
  return names;
}

}  // namespace lockstep::nvidia
