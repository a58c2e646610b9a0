// Valid small files with random damage: each gives an array or an Error, never a crash, another exception or a huge allocation.
#include <gtest/gtest.h>

#include <functional>

#include "engine/data/files/idx.h"
#include "engine/data/files/npz.h"
#include "engine/data/splitmix.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using testing::Bytes;
using testing::npy_bytes;
using testing::raw;

constexpr int kMutations = 2000;

// One to four changes: a byte set, a bit turned, bytes cut out, doubled, or set to an extreme.
Bytes mutate(Bytes bytes, SplitMix64& random) {
  for (std::uint64_t changes = 1 + random.below(4); changes > 0 && !bytes.empty(); --changes) {
    const auto at = static_cast<std::size_t>(random.below(bytes.size()));
    const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto length = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(1 + random.below(8), bytes.size() - at));
    switch (random.below(6)) {
      case 0:
        bytes[at] = static_cast<unsigned char>(random.next());
        break;
      case 1:
        bytes[at] = static_cast<unsigned char>(bytes[at] ^ (1U << random.below(8)));
        break;
      case 2:
        bytes.erase(position, position + length);
        break;
      case 3:
        bytes.insert(position, static_cast<std::size_t>(length), static_cast<unsigned char>(random.next()));
        break;
      case 4:
        std::fill(position, position + length, random.below(2) ? 0xff : 0x7f);
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

// Runs `read` on mutations of `valid`; returns how many were refused.
int refused(const Bytes& valid, const std::function<void(const std::filesystem::path&)>& read) {
  const testing::TempFolder folder;
  SplitMix64 random(2024, valid.size());
  int count = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto path = folder.write("file", mutate(valid, random));
    try {
      read(path);
    } catch (const Error& error) {
      ++count;
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
  return count;
}

Bytes small_npz(bool deflated, bool zip64) {
  return testing::zip_bytes({{"x.npy", npy_bytes("<f4", "(2, 3)", raw(std::vector<float>{1, 2, 3, 4, 5, 6}))},
                             {"names.npy", npy_bytes("<U2", "(2,)", raw(std::vector<std::uint32_t>{'a', 0, 'b', 'c'}))}},
                            deflated, zip64);
}

void read_everything(const std::filesystem::path& path) {
  Npz npz = Npz::open(path);
  for (const std::string& name : npz.names()) {
    const NpyArray array = npz.array(name);
    if (array.dtype[1] == 'U') array.strings();
    if (array.dtype == "<f4") array.array();
  }
}

TEST(Mutated, IdxFilesGiveAnArrayOrAnError) {
  const Bytes valid = testing::idx_bytes({2, 3, 2}, Bytes(12, 7));
  const int plain = refused(valid, [](const auto& path) { read_idx(path); });
  EXPECT_GT(plain, kMutations / 2);
  EXPECT_LT(plain, kMutations) << "a changed element is not noticed in a plain file";
  EXPECT_GT(refused(testing::gzip(valid), [](const auto& path) { read_idx(path); }), kMutations * 9 / 10);
}

TEST(Mutated, NpzFilesGiveArraysOrAnError) {
  for (const bool deflated : {false, true}) {
    for (const bool zip64 : {false, true}) EXPECT_GT(refused(small_npz(deflated, zip64), read_everything), kMutations / 2);
  }
}

TEST(Mutated, NpyFilesGiveAnArrayOrAnError) {
  const auto read = [](const std::filesystem::path& path) {
    const NpyArray array = read_npy(path);
    if (array.dtype[1] == 'U') array.strings();
  };
  EXPECT_GT(refused(npy_bytes("<U2", "(2, 1)", raw(std::vector<std::uint32_t>{'a', 0, 'b', 'c'})), read), kMutations / 4);
  EXPECT_GT(refused(npy_bytes("<f8", "(2,)", raw(std::vector<double>{1, 2})), read), kMutations / 4);
}

}  // namespace
}  // namespace lockstep
