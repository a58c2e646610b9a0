// On the virtual GPU only: the fast way to run a kernel equals the faithful one bit for bit, and no kernel is missing in the table.
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <fstream>
#include <iterator>
#include <set>

#include "engine/kernels/elementwise_kernels.h"
#include "simulator/gpu/runtime/control.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

constexpr Grid kGrids[] = {{1, 1}, {1, 2}, {1, 3},  {1, 7},  {1, 31}, {1, 32},  {1, 33}, {1, 64}, {1, 100}, {1, 128}, {1, 256}, {2, 1},
                           {3, 1}, {5, 3}, {7, 33}, {2, 64}, {4, 32}, {13, 17}, {16, 8}, {31, 1}, {3, 257}, {64, 2},  {9, 48},  {1, 1024}};

class KernelModes : public ::testing::TestWithParam<KernelCase> {
 protected:
  ~KernelModes() override { sim::set_kernel_mode(mode_); }

 private:
  sim::KernelMode mode_ = sim::kernel_mode();
};

TEST_P(KernelModes, FastEqualsFaithfulBitForBit) {
  const Stream stream(0);
  for (const unsigned seed : {5U, 6U}) {
    Random random(seed);
    KernelInstance instance;
    GetParam().make(random, instance);
    for (const Grid grid : kGrids) {
      sim::set_kernel_mode(sim::KernelMode::fast);
      instance.run(stream, grid);
      const auto fast = instance.written();
      sim::set_kernel_mode(sim::KernelMode::faithful);
      instance.run(stream, grid);
      ASSERT_EQ(instance.written(), fast) << instance.shape << " on a grid of " << grid.blocks << " x " << grid.threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelModes, ::testing::ValuesIn(kernel_cases()), [](const auto& tested) { return tested.param.kernel; });

template <typename T>
T read_at(const std::vector<char>& file, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= file.size()) std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

// Functions that the library's dynamic symbol table places in the section of kernels, without namespace and arguments.
std::set<std::string> kernels_in_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&kernels::fill), &info) == 0) return {};
  std::ifstream stream(info.dli_fname, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), {}};
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i)
    sections.push_back(read_at<Elf64_Shdr>(file, header.e_shoff + std::size_t{i} * header.e_shentsize));
  const std::size_t section_names = sections.at(header.e_shstrndx).sh_offset;
  unsigned kernel_section = 0;
  for (unsigned i = 0; i < sections.size(); ++i) {
    if (std::string(file.data() + section_names + sections[i].sh_name) == "lockstep_kernels") kernel_section = i;
  }
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const std::size_t strings = sections.at(section.sh_link).sh_offset;
    for (std::size_t at = section.sh_offset; at < section.sh_offset + section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(file, at);
      if (symbol.st_shndx != kernel_section || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      int status = 0;
      const std::unique_ptr<char, void (*)(void*)> demangled(
          abi::__cxa_demangle(file.data() + strings + symbol.st_name, nullptr, nullptr, &status), std::free);
      std::string name = status == 0 ? demangled.get() : file.data() + strings + symbol.st_name;
      name.erase(std::min(name.find('('), name.size()));
      const std::string space = "lockstep::kernels::";
      if (name.rfind(space, 0) == 0) name.erase(0, space.size());
      names.insert(name);
    }
  }
  return names;
}

TEST(KernelTable, HasEveryKernelOfTheLibraryAndNoOther) {
  std::set<std::string> covered;
  for (const KernelCase& tested : kernel_cases()) covered.insert(tested.kernel);
  const std::set<std::string> present = kernels_in_library();
  ASSERT_FALSE(present.empty());
  EXPECT_EQ(covered, present);
}

}  // namespace

}  // namespace lockstep::testing
