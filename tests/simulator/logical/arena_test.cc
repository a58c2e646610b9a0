// Memory limits, and what a refusal says.
#include "simulator/logical/arena.h"

#include <gtest/gtest.h>

#include "lockstep/error.h"

namespace lockstep::testing {

namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

TEST(Arena, CountsWhatIsTakenAndGivenBack) {
  Arena arena(0, 10 * kMib, "/gpu:0");
  EXPECT_EQ(arena.limit(), 10 * kMib);
  {
    Buffer a = arena.allocate(3 * kMib, "a");
    Buffer b = arena.allocate(4 * kMib, "b");
    EXPECT_EQ(arena.used(), 7 * kMib);
    Buffer moved = std::move(a);
    EXPECT_EQ(arena.used(), 7 * kMib);
    b = std::move(moved);
    EXPECT_EQ(arena.used(), 3 * kMib);
    EXPECT_EQ(b.bytes(), 3 * kMib);
  }
  EXPECT_EQ(arena.used(), 0U);
  EXPECT_EQ(arena.peak(), 7 * kMib);
  EXPECT_EQ(arena.allocations(), 2U);
}

TEST(Arena, RefusalSaysWhoAskedAndWhoHoldsWhatLargestFirst) {
  Arena arena(0, 10 * kMib, "/gpu:0/logical:1");
  const Buffer weights = arena.allocate(2 * kMib, "replica 1: weights");
  const Buffer activations = arena.allocate(5 * kMib, "replica 1: activations (batch 64)");
  try {
    const Buffer more = arena.allocate(4 * kMib, "replica 1: gradients");
    FAIL() << "4 MiB beside 7 of 10 were given";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "replica 1: gradients asked for 4.0 MiB on /gpu:0/logical:1, but that is past its memory limit: 7.0 MiB of 10.0 MiB are "
                 "taken, largest first:\n"
                 "  5.0 MiB  replica 1: activations (batch 64)\n"
                 "  2.0 MiB  replica 1: weights\n"
                 "A smaller batch needs less; so does a larger memory limit in split_gpu, where the GPU has room.");
  }
  EXPECT_EQ(arena.used(), 7 * kMib);
  EXPECT_NO_THROW(arena.allocate(3 * kMib, "what just fits"));
}

TEST(Arena, RefusesSizesThatWrapAround) {
  Arena arena(0, kMib, "/gpu:0");
  EXPECT_THROW(arena.allocate(~std::size_t{0}, "a bug"), Error);
  EXPECT_THROW(arena.allocate(~std::size_t{0} - 300, "a bug"), Error);
}

TEST(Arena, ABufferMayOutliveItsArena) {
  Buffer buffer;
  {
    Arena arena(0, kMib, "/gpu:0");
    buffer = arena.allocate(1000, "outlives");
  }
  EXPECT_EQ(buffer.bytes(), 1000U);
}

}  // namespace

}  // namespace lockstep::testing
