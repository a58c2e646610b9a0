// The memory planner's promises, over thousands of random programs.
#include "engine/nn/memory_planner.h"

#include <gtest/gtest.h>

#include <random>

namespace lockstep {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

std::size_t sum_of(const std::vector<Lifetime>& tensors) {
  std::size_t sum = 0;
  for (const Lifetime& tensor : tensors) sum += aligned(tensor.bytes);
  return sum;
}

void expect_sound(const std::vector<Lifetime>& tensors, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ASSERT_EQ(plan.offsets[i] % kTensorAlignment, 0U);
    ASSERT_LE(plan.offsets[i] + tensors[i].bytes, plan.total);
    for (std::size_t j = 0; j < i; ++j) {
      if (!tensors[i].meets(tensors[j]) || tensors[i].bytes == 0 || tensors[j].bytes == 0) continue;
      const bool apart = plan.offsets[i] + tensors[i].bytes <= plan.offsets[j] || plan.offsets[j] + tensors[j].bytes <= plan.offsets[i];
      ASSERT_TRUE(apart) << "tensors " << j << " and " << i << " are live together and overlap";
    }
  }
  ASSERT_LE(plan.total, sum_of(tensors));
  ASSERT_GE(plan.total, peak_bytes(tensors));
}

TEST(MemoryPlanner, TensorsLiveTogetherNeverOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const int span = std::uniform_int_distribution<int>(1, 40)(random);
    const int count = std::uniform_int_distribution<int>(0, 60)(random);
    std::vector<Lifetime> tensors;
    for (int i = 0; i < count; ++i) {
      const int a = std::uniform_int_distribution<int>(0, span)(random), b = std::uniform_int_distribution<int>(0, span)(random);
      const std::size_t bytes = std::uniform_int_distribution<std::size_t>(0, round % 2 ? 100000 : 1000)(random);
      tensors.push_back({bytes, std::min(a, b), std::max(a, b)});
    }
    expect_sound(tensors, plan_memory(tensors));
    if (HasFatalFailure()) return;
  }
}

TEST(MemoryPlanner, AChainNeedsNoMoreThanItsPeak) {  // inference: each layer's input and output, nothing else
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> tensors;
    for (int i = 0; i < 30; ++i) tensors.push_back({std::uniform_int_distribution<std::size_t>(1, 100000)(random), i, i + 1});
    const MemoryPlan plan = plan_memory(tensors);
    expect_sound(tensors, plan);
    EXPECT_EQ(plan.total, peak_bytes(tensors));
  }
}

TEST(MemoryPlanner, NestedLifetimesOfTrainingReachThePeakNearly) {  // activations until their backward, gradients in between
  std::mt19937 random(3);
  double worst = 0;
  for (int round = 0; round < 100; ++round) {
    const int layers = 20;
    std::vector<Lifetime> tensors;
    for (int i = 0; i < layers; ++i) {
      const std::size_t bytes = std::uniform_int_distribution<std::size_t>(1, 1000000)(random);
      const int backward = 2 * layers - i;
      tensors.push_back({bytes, i, backward});
      tensors.push_back({bytes, backward - 1, backward});
    }
    const MemoryPlan plan = plan_memory(tensors);
    expect_sound(tensors, plan);
    worst = std::max(worst, static_cast<double>(plan.total) / static_cast<double>(peak_bytes(tensors)));
  }
  EXPECT_LT(worst, 1.15);
}

TEST(MemoryPlanner, DisjointTensorsShareOnePlace) {
  const MemoryPlan plan = plan_memory({{1000, 0, 1}, {1000, 2, 3}, {500, 4, 9}});
  EXPECT_EQ(plan.total, aligned(1000));
}

TEST(MemoryPlanner, TouchingTimesCountAsTogether) {
  const MemoryPlan plan = plan_memory({{256, 0, 1}, {256, 1, 2}});
  EXPECT_EQ(plan.total, 512U);
}

TEST(MemoryPlanner, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).total, 0U);
  EXPECT_EQ(plan_memory({{0, 0, 5}}).total, 0U);
  EXPECT_EQ(peak_bytes({}), 0U);
}

TEST(MemoryPlanner, SamePlanEveryTime) {
  std::mt19937 random(4);
  std::vector<Lifetime> tensors;
  for (int i = 0; i < 50; ++i) tensors.push_back({1000, i / 3, i / 3 + 4});
  const MemoryPlan a = plan_memory(tensors), b = plan_memory(tensors);
  EXPECT_EQ(a.offsets, b.offsets);
}

}  // namespace
}  // namespace lockstep
