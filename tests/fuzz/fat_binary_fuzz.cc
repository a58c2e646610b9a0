// Fat binaries and the ELF files that carry them: read, and every PTX decompressed.
#include "simulator/gpu/nvidia/image/elf_program.h"
#include "simulator/gpu/ptx/error.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace lockstep;
  return fuzz::read_or_refuse([&] {
    const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(bytes), count);
    try {
      const std::vector<nvidia::FatEntry> entries =
          nvidia::is_elf(file) ? nvidia::read_elf_program(file).entries : nvidia::read_fat_section(file);
      for (const nvidia::FatEntry& entry : entries) nvidia::ptx_text(entry);
    } catch (const ptx::Error& error) {
      throw Error(error.what());
    }
  });
}
