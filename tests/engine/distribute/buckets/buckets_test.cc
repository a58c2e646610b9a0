// How gradients are packed into buckets.
#include <gtest/gtest.h>

#include <random>

#include "engine/distribute/buckets/gradient_buckets.h"

namespace lockstep {
namespace {

// With `sparse` every fourth variable or so comes by rows.
VariableLayout random_layout(std::mt19937& random, bool sparse) {
  std::vector<VariableSpec> specs;
  std::vector<int> ready;
  const int n = 1 + static_cast<int>(random() % 12);
  for (int v = 0; v < n; ++v) {
    VariableSpec spec;
    spec.name = "v" + std::to_string(v);
    spec.shape = {1 + static_cast<std::int64_t>(random() % 3000)};
    spec.sparse = sparse && random() % 4 == 0;
    specs.push_back(spec);
    ready.insert(ready.begin(), v);
  }
  return {specs, ready};
}

TEST(Buckets, CoverTheFlatGradientsInReadyOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const VariableLayout layout = random_layout(random, round % 2 == 1);
    const auto limit = static_cast<std::int64_t>(1 + random() % 20000);
    const auto first_limit = static_cast<std::int64_t>(1 + random() % 5000);
    const auto smallest = static_cast<std::int64_t>(random() % 30000);
    const auto is_alone = [&](int v) { return layout.specs()[static_cast<std::size_t>(v)].sparse; };
    const std::vector<Bucket> buckets = make_buckets(layout, limit, first_limit, smallest);
    std::int64_t next = 0;
    std::vector<int> variables;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      ASSERT_EQ(buckets[b].first, next);
      ASSERT_GT(buckets[b].count, 0);
      next += buckets[b].count;
      for (const int v : buckets[b].variables) {
        ASSERT_GE(layout.offset(v), buckets[b].first);
        ASSERT_LE(layout.offset(v) + layout.specs()[static_cast<std::size_t>(v)].shape.size(), next);
        variables.push_back(v);
      }
      const std::int64_t bytes = buckets[b].count * 4;
      const std::int64_t left = (layout.trainable_elements() - buckets[b].first) * 4;
      const std::int64_t size = std::min(std::max(smallest, left / 2), b == 0 ? first_limit : limit);
      for (const int v : buckets[b].variables) ASSERT_TRUE(!is_alone(v) || buckets[b].variables.size() == 1);
      const bool cut_off = is_alone(buckets[b].variables.front()) || (b + 1 < buckets.size() && is_alone(buckets[b + 1].variables.front()));
      if (b + 1 < buckets.size() && !cut_off) {
        ASSERT_GE(bytes, size) << "a bucket was closed before it was full";
      }
      if (buckets[b].variables.size() > 1) {
        const std::int64_t without_last = (layout.offset(buckets[b].variables.back()) - buckets[b].first) * 4;
        ASSERT_LT(without_last, size) << "a full bucket was left open";
      }
    }
    ASSERT_EQ(next, layout.trainable_elements());
    ASSERT_EQ(variables, layout.ready_order());
  }
}

// The gradients of the last bucket are ready when nothing is left to hide them behind.
TEST(Buckets, ShrinkTowardsTheEndOfBackward) {
  std::vector<VariableSpec> specs(300);
  std::vector<int> ready;
  for (int v = 0; v < 300; ++v) {
    specs[static_cast<std::size_t>(v)].name = "v" + std::to_string(v);
    specs[static_cast<std::size_t>(v)].shape = {25 << 10};  // 100 KiB
    ready.insert(ready.begin(), v);
  }
  const std::vector<Bucket> buckets = make_buckets(VariableLayout(specs, ready), 4 << 20, 1 << 20);
  std::vector<std::int64_t> kib;
  for (const Bucket& bucket : buckets) kib.push_back(bucket.count * 4 >> 10);
  EXPECT_EQ(kib, (std::vector<std::int64_t>{1100, 4100, 4100, 4100, 4100, 4100, 4100, 2200, 1100, 500, 300, 200}));
}

TEST(Buckets, ALayoutWithoutTrainableVariablesHasNone) {
  VariableSpec spec;
  spec.name = "moving_mean";
  spec.shape = {5};
  spec.trainable = false;
  EXPECT_TRUE(make_buckets(VariableLayout({spec}, {}), 100, 100).empty());
}

TEST(BucketBoard, ABucketIsReadyWhenAllReplicasArrived) {
  BucketBoard board;
  board.reset(2, 3);
  for (int r = 0; r < 3; ++r) board.arrive(0, r);
  EXPECT_EQ(board.wait(0, Deadline(0.01)), Rendezvous::Outcome::complete);
  board.arrive(1, 0);
  EXPECT_EQ(board.wait(1, Deadline(0.01)), Rendezvous::Outcome::late);
  board.stop();
  EXPECT_EQ(board.wait(1, Deadline(60)), Rendezvous::Outcome::stopped);
  board.reset(1, 1);
  board.arrive(0, 0);
  EXPECT_EQ(board.wait(0, Deadline(0.01)), Rendezvous::Outcome::complete);
}

}  // namespace
}  // namespace lockstep
