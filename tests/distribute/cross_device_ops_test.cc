// Every algorithm, one to eight replicas, sizes that do not divide: the exact sum, the same bits everywhere, the promised traffic.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "cross_device_ops.h"
#include "hierarchical_copy_all_reduce.h"
#include "lockstep/error.h"
#include "support/gpus.h"
#include "support/reduction_bench.h"
#include "tree_all_reduce.h"

namespace lockstep {
namespace {

using testing::Bench;
using testing::Gpus;
using testing::integers;

struct Case {
  std::string algorithm;
  int replicas;
  bool one_card;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.algorithm << c.replicas << (c.one_card ? "logical" : "cards"); }

constexpr std::int64_t kSizes[] = {65537, 1000, 100, 7, 3, 1, 0};

class EveryAlgorithm : public ::testing::TestWithParam<Case> {
 protected:
  Gpus gpus() const { return GetParam().one_card ? testing::logical_gpus(GetParam().replicas) : testing::whole_cards(GetParam().replicas); }
};

TEST_P(EveryAlgorithm, SumsExactlyAndAlikeOnAllReplicas) {
  Gpus there = gpus();
  if (there.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  Bench bench(GetParam().algorithm, std::move(there), 65537);
  for (const std::int64_t n : kSizes) {
    const auto values = integers(bench.replicas(), n, static_cast<std::uint32_t>(n) + 1);
    const auto found = bench.reduce(values, nullptr);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      float sum = 0;
      for (const auto& one : values) sum += one[i];
      for (std::size_t r = 0; r < found.size(); ++r) ASSERT_EQ(found[r][i], sum) << "element " << i << " of " << n << " on replica " << r;
    }
  }
}

TEST_P(EveryAlgorithm, RoundedSumsHaveTheSameBitsOnAllReplicasAndInEveryRun) {
  Gpus there = gpus();
  if (there.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  Bench bench(GetParam().algorithm, std::move(there), 1000);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> values(bench.replicas(), std::vector<float>(997));
  for (auto& one : values) {
    for (float& value : one) value = normal(random);
  }
  const auto first = bench.reduce(values, nullptr);
  const auto second = bench.reduce(values, nullptr);
  for (const auto* run : {&first, &second}) {
    for (const auto& one : *run) ASSERT_EQ(std::memcmp(one.data(), first[0].data(), one.size() * sizeof(float)), 0);
  }
}

TEST_P(EveryAlgorithm, SendsWhatTheClosedFormSays) {
  Gpus there = gpus();
  if (there.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  const std::string name = GetParam().algorithm;
  Bench bench(name, std::move(there), 65537);
  const auto replicas = static_cast<std::int64_t>(bench.replicas());
  for (const std::int64_t n : kSizes) {
    Traffic traffic;
    bench.reduce(integers(bench.replicas(), n, 3), &traffic);
    const std::int64_t bytes = n * 4;
    EXPECT_EQ(traffic.bytes, 2 * (replicas - 1) * bytes) << n;  // for each rank of the ring, 2S(n - 1)/n
    if (replicas == 1 || n == 0) {
      EXPECT_EQ(traffic.messages, 0);
    } else if (name == "ring") {
      EXPECT_EQ(traffic.messages, 2 * (replicas - 1) * std::min(replicas, n)) << n;  // 2(n - 1) for each rank; empty chunks stay at home
    } else if (name != "nccl") {                                                     // every edge of a tree carries the buffer up and down
      EXPECT_EQ(traffic.messages, 2 * (replicas - 1));
    }
  }
}

TEST_P(EveryAlgorithm, BroadcastsReplicaZerosBits) {
  Gpus there = gpus();
  if (there.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  Bench bench(GetParam().algorithm, std::move(there), 1000);
  const auto values = integers(bench.replicas(), 999, 11);
  Traffic traffic;
  const auto found = bench.reduce(values, &traffic, true);
  for (const auto& one : found) EXPECT_EQ(one, values[0]);
  const auto others = static_cast<std::int64_t>(bench.replicas()) - 1;
  EXPECT_EQ(traffic.messages, others);
  EXPECT_EQ(traffic.bytes, others * 999 * 4);
}

TEST_P(EveryAlgorithm, PreparingForMoreLaterWorks) {
  Gpus there = gpus();
  if (there.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  const std::vector<LogicalGpu*> pointers = there.pointers;
  Bench bench(GetParam().algorithm, std::move(there), 1000);
  bench.ops().prepare(pointers, 10);
  bench.ops().prepare(pointers, 1000);
  const auto values = integers(bench.replicas(), 1000, 2);
  for (const auto& one : bench.reduce(values, nullptr)) {
    float sum = 0;
    for (const auto& value : values) sum += value[999];
    EXPECT_EQ(one[999], sum);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& name : cross_device_ops_names()) {
    for (int replicas = 1; replicas <= 8; ++replicas) {
      if (name != "one-copy" || replicas == 1) all.push_back({name, replicas, false});
      if (name != "nccl" || replicas == 1) all.push_back({name, replicas, true});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(CrossDeviceOps, EveryAlgorithm, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.algorithm + "_" + std::to_string(test.param.replicas) + (test.param.one_card ? "_logical" : "_cards");
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(CrossDeviceOps, NcclRefusesTwoReplicasOnOneCard) {
  Gpus gpus = testing::logical_gpus(2);
  try {
    make_cross_device_ops("nccl")->prepare(gpus.pointers, 10);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("one card"), std::string::npos) << error.what();
  }
}

TEST(CrossDeviceOps, ABufferLargerThanPreparedIsRefused) {
  for (const std::string name : {"ring", "tree", "hierarchical-copy", "one-device"}) {
    Bench bench(name, testing::logical_gpus(2), 100);
    auto participants = bench.participants(100);
    for (Participant& one : participants) one.buffer = Tensor(one.buffer.raw(), {300});
    EXPECT_THROW(bench.ops().all_reduce(participants), Error) << name;
  }
}

TEST(CrossDeviceOps, ATreeIsAsDeepAsTheLogarithm) {
  for (int n = 1; n <= 8; ++n) {
    const Gpus gpus = testing::logical_gpus(n);
    std::vector<int> depth(static_cast<std::size_t>(n));  // additions that follow one another until this replica's sum is there
    for (const auto& [parent, child] : TreeAllReduceOps().edges(gpus.pointers)) {
      auto& above = depth[static_cast<std::size_t>(parent)];
      above = std::max(above, depth[static_cast<std::size_t>(child)]) + 1;
    }
    int rounds = 0;
    while ((1 << rounds) < n) ++rounds;
    EXPECT_EQ(depth[0], rounds) << n;
  }
}

TEST(CrossDeviceOps, AGroupOfTheHierarchyIsACardWhereReplicasShareCards) {
  Gpus gpus = testing::logical_gpus(3);
  Gpus cards = testing::whole_cards(2);
  if (cards.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  std::vector<LogicalGpu*> mixed = {gpus.pointers[0], cards.pointers[0], gpus.pointers[1], cards.pointers[1], gpus.pointers[2]};
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(HierarchicalCopyAllReduceOps::groups(mixed), (Groups{{0, 2, 4}, {1}, {3}}));
  int between_cards = 0;
  for (const auto& [parent, child] : HierarchicalCopyAllReduceOps().edges(mixed)) {
    between_cards += mixed[static_cast<std::size_t>(parent)]->physical() != mixed[static_cast<std::size_t>(child)]->physical();
  }
  EXPECT_EQ(between_cards, 2);
  EXPECT_EQ(HierarchicalCopyAllReduceOps::groups(testing::logical_gpus(7).pointers), (Groups{{0, 1, 2}, {3, 4, 5}, {6}}));
}

TEST(CrossDeviceOps, ReplicasOnSharedAndOwnCardsAddUpTogether) {
  for (const std::string name : {"ring", "tree", "hierarchical-copy", "one-device"}) {
    Gpus mixed = testing::logical_gpus(3);
    Gpus cards = testing::whole_cards(2);
    if (cards.pointers.empty()) GTEST_SKIP() << "fewer cards here";
    mixed.pointers.insert(mixed.pointers.begin() + 1, cards.pointers.begin(), cards.pointers.end());
    for (auto& card : cards.owned) mixed.owned.push_back(std::move(card));
    Bench bench(name, std::move(mixed), 1000);
    const auto values = integers(bench.replicas(), 1000, 17);
    for (const auto& one : bench.reduce(values, nullptr)) {
      for (std::size_t i = 0; i < one.size(); ++i) {
        float sum = 0;
        for (const auto& value : values) sum += value[i];
        ASSERT_EQ(one[i], sum) << name << ", element " << i;
      }
    }
  }
}

TEST(CrossDeviceOps, AnUnknownNameListsTheKnownOnes) {
  try {
    make_cross_device_ops("pigeon");
    FAIL() << "was accepted";
  } catch (const Error& error) {
    for (const std::string& name : cross_device_ops_names()) EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
  }
}

TEST(CrossDeviceOps, NcclIsChosenBetweenCardsAndOneCopyOnOneCard) {
  std::string why;
  EXPECT_EQ(choose_cross_device_ops({{0, -1, 0}, {1, -1, 0}}, &why), "nccl");
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(choose_cross_device_ops({{0, 0, 512}, {0, 1, 512}}, &why), "one-copy");
  EXPECT_NE(why.find("share"), std::string::npos) << why;
  EXPECT_EQ(choose_cross_device_ops({{0, 0, 512}, {0, 1, 512}, {1, -1, 0}}, &why), "hierarchical-copy");
  EXPECT_NO_THROW(make_cross_device_ops(choose_cross_device_ops({{0, -1, 0}}, nullptr)));
}

}  // namespace
}  // namespace lockstep
