// Floating-point sums depend on their order; ours is the ring's, whatever the schedule.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "simulator/gpu/runtime/control.h"
#include "tests/simulator/gpu/nccl/support/cluster.h"

namespace lockstep::test {
namespace {

std::vector<std::vector<float>> random_inputs(int ranks, std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> inputs(static_cast<std::size_t>(ranks), std::vector<float>(count));
  for (auto& input : inputs) {
    for (float& x : input) x = normal(engine);
  }
  return inputs;
}

std::vector<std::vector<float>> all_reduce(const std::vector<std::vector<float>>& inputs, ncclRedOp_t op, Way way = Way::direct) {
  const int n = static_cast<int>(inputs.size());
  const Cluster cluster(n, way);
  std::vector<std::unique_ptr<DeviceBytes>> buffers;
  for (int r = 0; r < n; ++r) buffers.push_back(cluster.upload(r, inputs[static_cast<std::size_t>(r)]));
  call_all(n, Calling::one_group, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return ncclAllReduce(buffers[r]->data(), buffers[r]->data(), inputs[r].size(), ncclFloat32, op, cluster.comms[r], cluster.streams[r]);
  });
  std::vector<std::vector<float>> outputs;
  for (int r = 0; r < n; ++r) outputs.push_back(cluster.download<float>(r, *buffers[static_cast<std::size_t>(r)]));
  return outputs;
}

// Slice s starts at rank s + 1 and ends at rank s; slices differ in size by at most one element, larger first.
std::vector<float> ring_oracle(const std::vector<std::vector<float>>& inputs, bool average) {
  const std::size_t n = inputs.size();
  const std::size_t count = inputs[0].size();
  const float scale = average ? 1.0F / static_cast<float>(n) : 1.0F;
  std::vector<float> result(count);
  std::size_t i = 0;
  for (std::size_t slice = 0; slice < n; ++slice) {
    const std::size_t end = i + count / n + (slice < count % n ? 1 : 0);
    for (; i < end; ++i) {
      volatile float sum = inputs[(slice + 1) % n][i] * scale;
      for (std::size_t hop = 2; hop <= n; ++hop) sum = sum + inputs[(slice + hop) % n][i] * scale;
      result[i] = sum;
    }
  }
  return result;
}

TEST(RingAllReduce, SumsInTheOrderOfTheRing) {
  for (const int n : {2, 3, 5, 8}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, std::size_t{40013}}) {
      const auto inputs = random_inputs(n, count, static_cast<unsigned>(count) + static_cast<unsigned>(n));
      const auto expected = ring_oracle(inputs, false);
      for (const auto& output : all_reduce(inputs, ncclSum)) ASSERT_EQ(output, expected) << n << " ranks, " << count;
    }
  }
}

TEST(RingAllReduce, AveragesByScalingBeforehand) {
  for (const int n : {3, 7}) {
    const auto inputs = random_inputs(n, 1001, 5);
    const auto expected = ring_oracle(inputs, true);
    for (const auto& output : all_reduce(inputs, ncclAvg)) ASSERT_EQ(output, expected);
  }
}

TEST(RingAllReduce, GivesTheSameBitsUnderEverySchedule) {
  const auto inputs = random_inputs(4, 30011, 9);
  const auto expected = ring_oracle(inputs, false);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::set_schedule_seed(seed);
    for (const auto& output : all_reduce(inputs, ncclSum)) ASSERT_EQ(output, expected) << "schedule " << seed;
  }
  sim::set_schedule_seed(0);
}

TEST(RingAllReduce, GivesTheSameBitsByMessages) {
  for (const int n : {2, 3, 8, 16}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{300007}}) {
      const auto inputs = random_inputs(n, count, static_cast<unsigned>(count) + static_cast<unsigned>(n));
      for (const bool average : {false, true}) {
        const auto expected = ring_oracle(inputs, average);
        for (const Way way : {Way::shared_memory, Way::tcp}) {
          for (const auto& output : all_reduce(inputs, average ? ncclAvg : ncclSum, way)) {
            ASSERT_EQ(output, expected) << n << " ranks, " << count << ", " << name_of(way);
          }
        }
      }
    }
  }
}

// As fmax and fmin have it: only when all are NaN is the result.
TEST(RingAllReduce, ANanLosesAgainstANumber) {
  const float nan = std::nanf("");
  for (const ncclRedOp_t op : {ncclMax, ncclMin}) {
    const auto outputs = all_reduce({{nan, 1, nan, nan}, {2, nan, nan, nan}, {nan, nan, 3, nan}}, op);
    for (const auto& output : outputs) {
      EXPECT_EQ((std::vector<float>{output[0], output[1], output[2]}), (std::vector<float>{2, 1, 3}));
      EXPECT_TRUE(std::isnan(output[3]));
    }
  }
}

TEST(TreeAllReduce, GivesTheSameBitsByMessages) {
  setenv("NCCL_ALGO", "tree", 1);
  for (const int n : {2, 3, 7, 16}) {
    const auto inputs = random_inputs(n, 50021, static_cast<unsigned>(n));
    const auto expected = all_reduce(inputs, ncclSum)[0];
    for (const Way way : {Way::shared_memory, Way::tcp}) {
      for (const auto& output : all_reduce(inputs, ncclSum, way)) ASSERT_EQ(output, expected) << n << " ranks, " << name_of(way);
    }
  }
  unsetenv("NCCL_ALGO");
}

TEST(TreeAllReduce, GivesAllRanksTheSameBitsAndOthersThanTheRing) {
  const auto inputs = random_inputs(8, 10007, 11);
  setenv("NCCL_ALGO", "tree", 1);
  const auto outputs = all_reduce(inputs, ncclSum);
  unsetenv("NCCL_ALGO");
  for (const auto& output : outputs) ASSERT_EQ(output, outputs[0]);
  const auto ring = ring_oracle(inputs, false);
  EXPECT_NE(outputs[0], ring);  // so the environment's choice is followed
  for (std::size_t i = 0; i < ring.size(); ++i) ASSERT_NEAR(outputs[0][i], ring[i], 1e-5);
}

}  // namespace
}  // namespace lockstep::test
