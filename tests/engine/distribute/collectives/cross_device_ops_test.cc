// Every algorithm, one to eight replicas, sizes that do not divide: the exact sum, the same bits everywhere, the promised traffic.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <random>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "engine/distribute/collectives/hierarchical_copy_all_reduce.h"
#include "engine/distribute/collectives/tree_all_reduce.h"
#include "lockstep/error.h"
#include "lockstep/strategy.h"
#include "tests/engine/distribute/collectives/support/reduction_bench.h"
#include "tests/engine/distribute/support/gpus.h"

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

TEST_P(EveryAlgorithm, SumsExactlyAndEquallyOnAllReplicas) {
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

TEST(CrossDeviceOps, AreChosenByWhereTheReplicasAre) {
  struct Row {
    const char* devices;
    std::vector<GpuId> gpus;
    const char* name;
    const char* because;  // part of the sentence that is shown
  };
  const std::vector<Row> rows = {
      {"1 card", {{0, -1, 0}}, "one-device", "nothing to reduce"},
      {"1 logical GPU", {{0, 0, 512}}, "one-device", "nothing to reduce"},
      {"2 cards", {{0, -1, 0}, {1, -1, 0}}, "nccl", "a card of its own"},
      {"4 cards", {{0, -1, 0}, {1, -1, 0}, {2, -1, 0}, {3, -1, 0}}, "nccl", "a card of its own"},
      {"a logical GPU on each of 2 cards", {{0, 0, 512}, {1, 0, 512}}, "nccl", "a card of its own"},
      {"2 logical GPUs of one card", {{0, 0, 512}, {0, 1, 512}}, "one-device", "NCCL refuses two replicas on one card"},
      {"3 logical GPUs of one card", {{0, 0, 512}, {0, 1, 512}, {0, 2, 512}}, "one-device", "NCCL refuses two replicas on one card"},
      {"2 logical GPUs of one card and a card",
       {{0, 0, 512}, {0, 1, 512}, {1, -1, 0}},
       "hierarchical-copy",
       "NCCL refuses two replicas on one card"},
  };
  for (const Row& row : rows) {
    std::string why;
    EXPECT_EQ(choose_cross_device_ops(row.gpus, &why), row.name) << row.devices;
    EXPECT_NE(why.find(row.because), std::string::npos) << why;
    EXPECT_FALSE(make_cross_device_ops(row.name)->one_copy()) << row.devices << ": one copy is only for those who name it";
    std::cout << row.devices << ": " << row.name << " (" << why << ")\n";
  }
  for (const std::string& name : cross_device_ops_names()) EXPECT_EQ(make_cross_device_ops(name)->one_copy(), name == "one-copy");
}

// The same for what a program makes: each strategy, with the algorithm left open and by name.
TEST(CrossDeviceOps, AreWhatAStrategySays) {
  const std::vector<GpuId> all = testing::logical_ids();
  const std::vector<GpuId> parts(all.begin(), all.begin() + 2);
  EXPECT_EQ(MirroredStrategy(parts).cross_device_ops(), "one-device");
  EXPECT_NE(MirroredStrategy(parts).describe().find("\"one-device\" (NCCL refuses"), std::string::npos);
  EXPECT_EQ(MirroredStrategy(parts, OneCopy()).cross_device_ops(), "one-copy");
  EXPECT_NE(MirroredStrategy(parts, OneCopy()).describe().find("\"one-copy\" (as asked for)"), std::string::npos);
  EXPECT_EQ(MirroredStrategy(parts, RingAllReduce()).cross_device_ops(), "ring");
  EXPECT_EQ(MirroredStrategy(std::vector<GpuId>{parts.front()}).cross_device_ops(), "one-device");
  EXPECT_EQ(OneDeviceStrategy(parts.front()).cross_device_ops(), "one-device");
}

}  // namespace
}  // namespace lockstep
