// The interval map behind check mode, against one that keeps a record for every byte.
#include "simulator/gpu/check/shadow.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep::sim {
namespace {

struct Byte {
  bool written = false;
  Access writer;
  std::vector<Access> readers;
};

TEST(Shadow, EqualsARecordForEveryByte) {
  constexpr int kBytes = 64;
  std::mt19937 random(5);
  int conflicts = 0;
  for (int round = 0; round < 300; ++round) {
    Shadow shadow;
    std::vector<Byte> bytes(kBytes);
    shadow.add(1000, kBytes, false);
    // Streams 0 and 1 know of each other up to these nodes.
    std::uint64_t known[2][2] = {{0, 0}, {0, 0}};
    for (std::uint64_t sequence = 1; sequence < 60; ++sequence) {
      const int s = static_cast<int>(random() % 2);
      if (random() % 6 == 0) {
        known[s][1 - s] = sequence - 1;
        continue;
      }
      const std::size_t first = random() % kBytes, count = 1 + random() % (kBytes - first);
      const Access access{s, sequence, nullptr};
      const auto before = [&](const Access& other) {
        return other.stream < 0 || other.stream == s || known[s][other.stream] >= other.sequence;
      };
      const bool write = random() % 2 == 0;
      bool expected = false;
      for (std::size_t i = first; i < first + count; ++i) {
        expected = expected || !before(bytes[i].writer);
        if (write) expected = expected || !std::all_of(bytes[i].readers.begin(), bytes[i].readers.end(), before);
      }
      const auto found = write ? shadow.write(1000 + first, count, access, before) : shadow.read(1000 + first, count, access, before);
      ASSERT_EQ(found.has_value(), expected) << "round " << round << ", node " << sequence;
      if (expected) {
        ++conflicts;
        break;  // a device stops at its first one
      }
      bool hole = false;
      for (std::size_t i = first; i < first + count; ++i) {
        hole = hole || !bytes[i].written;
        if (write) {
          bytes[i] = {true, access, {}};
        } else {
          bytes[i].readers.push_back(access);
        }
      }
      ASSERT_EQ(shadow.unwritten(1000 + first, count).has_value(), hole);
      if (write) shadow.set_written(1000 + first, count);
      ASSERT_LE(shadow.segments(), static_cast<std::size_t>(kBytes));
    }
  }
  EXPECT_GT(conflicts, 50);
}

TEST(Shadow, RepeatedStepsDoNotMakeItGrow) {
  Shadow shadow;
  shadow.add(0x1000, 1 << 20, false);
  const auto before = [](const Access&) { return true; };
  std::size_t after_first = 0;
  for (std::uint64_t step = 1; step < 50; ++step) {
    for (std::uintptr_t part = 0; part < 16; ++part) {
      shadow.write(0x1000 + part * 4096, 4096, {0, step * 100 + part, nullptr}, before);
      shadow.read(0x1000 + part * 4096 + 100, 512, {1, step, nullptr}, before);
    }
    if (step == 1) after_first = shadow.segments();
    EXPECT_LE(shadow.segments(), after_first);
  }
}

TEST(Shadow, CopiesKeepWhatBytesWere) {
  Shadow shadow;
  shadow.add(1000, 100, false);
  shadow.add(5000, 100, true);
  shadow.set_written(1010, 20);
  shadow.set_written(1050, 50);
  shadow.copy_written(1000, 5000, 100);
  for (std::uintptr_t i = 0; i < 100; ++i) {
    EXPECT_EQ(shadow.unwritten(5000 + i, 1).has_value(), shadow.unwritten(1000 + i, 1).has_value()) << i;
  }
}

TEST(Clock, JoinsAreLeastUpperBounds) {
  VectorClock a, b;
  EXPECT_TRUE(a.raise(3, 7));
  EXPECT_FALSE(a.raise(3, 7));
  b.raise(0, 2);
  b.raise(3, 5);
  EXPECT_TRUE(a.join(b));
  EXPECT_FALSE(a.join(b));
  EXPECT_EQ(a.of(0), 2U);
  EXPECT_EQ(a.of(3), 7U);
  EXPECT_EQ(a.of(9), 0U);
}

}  // namespace
}  // namespace lockstep::sim
