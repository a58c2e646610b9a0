// How a batch is cut among replicas.
#include <gtest/gtest.h>

#include "engine/tensor/shard.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

TEST(CutBatch, ShardsAreContiguousAndEvenAndLargerFirst) {
  for (int replicas = 1; replicas <= 17; ++replicas) {
    for (std::int64_t samples = 0; samples <= 200; ++samples) {
      const std::vector<Shard> shards = cut_batch(samples, replicas);
      ASSERT_EQ(shards.size(), static_cast<std::size_t>(replicas));
      std::int64_t next = 0;
      for (std::size_t r = 0; r < shards.size(); ++r) {
        ASSERT_EQ(shards[r].first, next) << samples << " samples, " << replicas << " replicas";
        next += shards[r].count;
        ASSERT_LE(shards[r].count, shards[0].count);
        ASSERT_GE(shards[r].count + 1, shards[0].count);
        if (r > 0) {
          ASSERT_LE(shards[r].count, shards[r - 1].count);
        }
      }
      ASSERT_EQ(next, samples);
    }
  }
}

TEST(CutBatch, FewerSamplesThanReplicasLeavesTheLastOnesEmpty) {
  const std::vector<Shard> shards = cut_batch(2, 4);
  EXPECT_EQ(shards[0].count, 1);
  EXPECT_EQ(shards[1].count, 1);
  EXPECT_EQ(shards[2].count, 0);
  EXPECT_EQ(shards[3].count, 0);
}

TEST(CutBatch, NonsenseIsRefused) {
  EXPECT_THROW(cut_batch(4, 0), Error);
  EXPECT_THROW(cut_batch(-1, 2), Error);
}

}  // namespace
}  // namespace lockstep
