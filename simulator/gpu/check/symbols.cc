#include "simulator/gpu/check/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <vector>

namespace lockstep::sim {

namespace {

struct Symbol {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};
using Table = std::vector<Symbol>;  // by begin

// A piece of the file, or nothing when the file ends before it does.
template <typename T>
std::vector<T> read(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 28;
  if (bytes > kMost) return {};
  std::vector<T> found(bytes / sizeof(T));
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size() * sizeof(T)));
  return file ? found : std::vector<T>{};
}

// The full table where the file still has it, else what it exports.
Table read_table(const std::string& path) {
  Table table;
  std::ifstream file(path, std::ios::binary);
  const auto header = read<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr));
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 || header[0].e_ident[EI_CLASS] != ELFCLASS64) return table;
  const auto sections = read<Elf64_Shdr>(file, header[0].e_shoff, std::uint64_t{header[0].e_shnum} * sizeof(Elf64_Shdr));
  const Elf64_Shdr* chosen = nullptr;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && chosen == nullptr)) chosen = &section;
  }
  if (chosen == nullptr || chosen->sh_link >= sections.size()) return table;
  const auto symbols = read<Elf64_Sym>(file, chosen->sh_offset, chosen->sh_size);
  const auto names = read<char>(file, sections[chosen->sh_link].sh_offset, sections[chosen->sh_link].sh_size);
  for (const Elf64_Sym& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 || symbol.st_name >= names.size()) continue;
    const char* const name = names.data() + symbol.st_name;
    table.push_back({symbol.st_value, symbol.st_value + symbol.st_size, std::string(name, strnlen(name, names.size() - symbol.st_name))});
  }
  std::sort(table.begin(), table.end(), [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  return table;
}

// The file that is loaded at an address, and by how much it was moved.
struct Module {
  std::uint64_t address = 0;
  std::uint64_t moved = 0;
  std::string path;
  bool found = false;
};

int look_at(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& module = *static_cast<Module*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || module.address - (info->dlpi_addr + part.p_vaddr) >= part.p_memsz) continue;
    module.moved = info->dlpi_addr;
    module.path = info->dlpi_name != nullptr && *info->dlpi_name != '\0' ? info->dlpi_name : "/proc/self/exe";
    module.found = true;
    return 1;
  }
  return 0;
}

std::string readable(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

}  // namespace

std::string symbol_at(const void* address) {
  static std::mutex mutex;
  static std::map<std::string, Table> tables;
  Module module;
  module.address = reinterpret_cast<std::uintptr_t>(address);
  dl_iterate_phdr(&look_at, &module);
  if (!module.found) return "";
  const std::lock_guard lock(mutex);
  auto known = tables.find(module.path);
  if (known == tables.end()) known = tables.emplace(module.path, read_table(module.path)).first;
  const std::uint64_t at = module.address - module.moved;
  const auto after = std::upper_bound(known->second.begin(), known->second.end(), at, [](auto a, const Symbol& s) { return a < s.begin; });
  if (after == known->second.begin()) return "";
  const Symbol& symbol = *std::prev(after);
  return at < symbol.end || symbol.begin == symbol.end ? readable(symbol.name) : "";
}

}  // namespace lockstep::sim
