// Fat binaries: images made here, byte by byte, and images of this machine's nvcc where there is one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "simulator/gpu/nvidia/image/elf_program.h"
#include "simulator/gpu/nvidia/image/fat_binary.h"
#include "simulator/gpu/ptx/error.h"
#include "simulator/gpu/ptx/module.h"

namespace lockstep::nvidia {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void put(Bytes& bytes, std::size_t at, T value) {
  if (bytes.size() < at + sizeof(T)) bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

Bytes entry(std::uint16_t kind, std::uint32_t architecture, const std::string& content, std::uint64_t flags = 0x11,
            std::uint64_t unpacked = 0, std::uint32_t header = 80) {
  Bytes bytes(header);
  const std::size_t padded = (content.size() + 7) / 8 * 8;
  put<std::uint16_t>(bytes, 0, kind);
  put<std::uint16_t>(bytes, 2, 0x101);
  put<std::uint32_t>(bytes, 4, header);
  put<std::uint64_t>(bytes, 8, padded);
  put<std::uint32_t>(bytes, 16, flags == 0x11 ? 0 : static_cast<std::uint32_t>(content.size()));
  put<std::uint32_t>(bytes, 28, architecture);
  put<std::uint64_t>(bytes, 40, flags);
  put<std::uint64_t>(bytes, 56, unpacked);
  bytes.resize(header + padded);
  std::memcpy(bytes.data() + header, content.data(), content.size());
  return bytes;
}

Bytes image(const std::vector<Bytes>& entries) {
  Bytes bytes(16);
  for (const Bytes& one : entries) bytes.insert(bytes.end(), one.begin(), one.end());
  put<std::uint32_t>(bytes, 0, 0xba55ed50);
  put<std::uint16_t>(bytes, 4, 1);
  put<std::uint16_t>(bytes, 6, 16);
  put<std::uint64_t>(bytes, 8, bytes.size() - 16);
  return bytes;
}

std::string error_of(const Bytes& bytes) {
  try {
    for (const FatEntry& one : read_fat_binary(bytes)) ptx_text(one);
  } catch (const ptx::Error& error) {
    return error.what();
  }
  return "no error";
}

std::string packed(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(FatBinary, TheHighestPtxNotAboveTheDeviceIsPicked) {
  const Bytes bytes =
      image({entry(2, 75, "machine"), entry(1, 75, "old"), entry(1, 90, "new"), entry(1, 80, "middle"), entry(8, 99, "other")});
  const std::vector<FatEntry> entries = read_fat_binary(bytes);
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(ptx_text(*best_ptx(entries, 75)), "old");
  EXPECT_EQ(ptx_text(*best_ptx(entries, 89)), "middle");
  EXPECT_EQ(ptx_text(*best_ptx(entries, 100)), "new");
  EXPECT_EQ(best_ptx(entries, 70), nullptr);
  EXPECT_EQ(describe(entries), "PTX for compute_75 and compute_80 and compute_90, machine code for sm_75");
}

TEST(FatBinary, Lz4IsDecompressed) {
  // 4 literals "abcd", a match of 8 at distance 4, which overlaps itself; then 1 literal.
  const std::string block = packed({0x44, 'a', 'b', 'c', 'd', 4, 0, 0x10, '!'});
  const std::vector<FatEntry> entries = read_fat_binary(image({entry(1, 75, "x")}));
  const Bytes bytes = image({entry(1, 75, block, 0x2011, 13)});
  EXPECT_EQ(ptx_text(read_fat_binary(bytes).at(0)), "abcdabcdabcd!");
  for (const std::uint64_t lie : {0, 12, 14, 100000}) {
    EXPECT_NE(error_of(image({entry(1, 75, block, 0x2011, lie)})).find("can't be decompressed"), std::string::npos) << lie;
  }
  EXPECT_NE(error_of(image({entry(1, 75, packed({0x44, 'a', 'b', 'c', 'd', 5, 0, 0x10, '!'}), 0x2011, 13)})), "no error")
      << "before the start";
}

TEST(FatBinary, EveryCutIsRefusedWithASentence) {
  const Bytes bytes = image({entry(2, 75, "machine code"), entry(1, 75, "text of PTX"), entry(1, 90, "more", 0x8011, 1000)});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const std::string error = error_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)});
    EXPECT_NE(error.find("fat binary"), std::string::npos) << n << ": " << error;
  }
}

TEST(FatBinary, LyingSizesAreRefused) {
  const Bytes good = image({entry(1, 75, "text")});
  ASSERT_EQ(error_of(good), "no error");
  const auto changed = [&](std::size_t at, std::uint64_t value) {
    Bytes bytes = good;
    put(bytes, at, value);
    return error_of(bytes);
  };
  EXPECT_NE(changed(8, ~std::uint64_t{0}).find("cut off"), std::string::npos);
  EXPECT_NE(changed(16 + 8, ~std::uint64_t{0}).find("damaged"), std::string::npos);
  EXPECT_NE(changed(0, 0).find("not a fat binary"), std::string::npos);
  Bytes no_header = good;
  put<std::uint32_t>(no_header, 16 + 4, 0);
  EXPECT_NE(error_of(no_header).find("damaged"), std::string::npos) << "an entry without length would never end";
}

#ifdef LOCKSTEP_FAT_IMAGES
TEST(FatBinary, NvccsOwnAreReadInEveryCompression) {
  std::string first;
  for (const std::string mode : {"none", "speed", "balance", "size"}) {
    const Bytes bytes = bytes_of_file(std::string(LOCKSTEP_FAT_IMAGES) + "/" + mode + ".so");
    const ElfProgram program = read_elf_program(bytes);
    EXPECT_TRUE(program.has_gpu_code) << mode;
    EXPECT_EQ(best_ptx(program.entries, 74), nullptr);
    const FatEntry* const best = best_ptx(program.entries, 86);
    ASSERT_NE(best, nullptr) << mode;
    EXPECT_EQ(best->architecture, 75) << mode;
    EXPECT_EQ(best->packing, mode == "none" ? Packing::plain : mode == "speed" ? Packing::lz4 : Packing::zstd) << mode;
    const std::string text = ptx_text(*best);
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << mode;
    const ptx::Module module(text);
    EXPECT_EQ(module.kernels().size(), 1U);
  }
}
#endif

}  // namespace
}  // namespace lockstep::nvidia
