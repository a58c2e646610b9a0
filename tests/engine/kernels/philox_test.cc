// Philox against the known answers that its authors publish with Random123.
#include "engine/kernels/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {
namespace {

void expect_words(PhiloxCounter got, PhiloxCounter want) {
  EXPECT_EQ(got.x, want.x);
  EXPECT_EQ(got.y, want.y);
  EXPECT_EQ(got.z, want.z);
  EXPECT_EQ(got.w, want.w);
}

TEST(Philox, GivesThePublishedAnswers) {
  expect_words(philox({}, {}), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t kOnes = 0xffffffff;
  expect_words(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect_words(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Philox, UniformStaysBelowOneAndReachesZero) {
  EXPECT_EQ(philox_uniform(0), 0.0F);
  EXPECT_LT(philox_uniform(0xffffffff), 1.0F);
  EXPECT_GT(philox_uniform(0xffffffff), 0.9999F);
}

TEST(Philox, EveryWordOfCounterAndKeyMatters) {
  std::set<std::uint32_t> firsts;
  firsts.insert(philox({}, {}).x);
  firsts.insert(philox({1, 0, 0, 0}, {}).x);
  firsts.insert(philox({0, 1, 0, 0}, {}).x);
  firsts.insert(philox({0, 0, 1, 0}, {}).x);
  firsts.insert(philox({0, 0, 0, 1}, {}).x);
  firsts.insert(philox({}, philox_key(1)).x);
  firsts.insert(philox({}, philox_key(std::uint64_t{1} << 32)).x);
  EXPECT_EQ(firsts.size(), 7U);
}

}  // namespace
}  // namespace lockstep
