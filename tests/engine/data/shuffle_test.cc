// Dataset::shuffle: tf.data's streaming shuffle, from (seed, epoch) alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/engine/data/support/epochs.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using testing::count_to;
using testing::numbered;
using testing::order;

Dataset as_batches_of_one(const Dataset& dataset) {  // elements that are not rows any more
  return dataset.map([](Batch batch) { return batch; });
}

TEST(Shuffle, GivesEverySampleOnce) {
  for (const int n : {0, 1, 2, 17, 100}) {
    for (const int buffer : {1, 2, 5, 17, 1000}) {
      for (const std::uint64_t seed : {0, 1, 99}) {
        auto samples = order(numbered(n).shuffle(buffer, seed));
        std::sort(samples.begin(), samples.end());
        EXPECT_EQ(samples, count_to(n)) << "n " << n << ", buffer " << buffer;
      }
    }
  }
}

TEST(Shuffle, MovesNoSampleForwardByTheBufferOrMore) {
  for (const int n : {50, 333}) {
    for (const int buffer : {1, 2, 7, 40}) {
      bool reached = false;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto samples = order(numbered(n).shuffle(buffer, seed));
        for (int position = 0; position < n; ++position) {
          const int sample = samples[static_cast<std::size_t>(position)];
          EXPECT_GE(position, sample - buffer + 1) << "n " << n << ", buffer " << buffer;
          reached = reached || position == sample - buffer + 1;
        }
      }
      EXPECT_TRUE(reached) << "the whole buffer is in use";
    }
  }
}

TEST(Shuffle, OfABufferOfOneKeepsTheOrder) { EXPECT_EQ(order(numbered(30).shuffle(1, 5)), count_to(30)); }

TEST(Shuffle, WithALargeBufferGivesEveryOrderTheSameChance) {
  std::map<std::vector<int>, int> seen;
  const Dataset shuffled = numbered(4).shuffle(4, 12);
  constexpr int kEpochs = 24000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) ++seen[order(shuffled, epoch)];
  ASSERT_EQ(seen.size(), 24U);
  double chi2 = 0;
  for (const auto& [permutation, count] : seen) chi2 += (count - kEpochs / 24.0) * (count - kEpochs / 24.0) / (kEpochs / 24.0);
  EXPECT_LT(chi2, 49.7) << "23 degrees of freedom: above once in a thousand";
}

TEST(Shuffle, FollowsFromSeedAndEpochAlone) {
  const auto data = numbered(200);
  EXPECT_EQ(order(data.shuffle(64, 7), 3), order(data.shuffle(64, 7), 3));
  const Dataset one = data.shuffle(64, 7);
  const auto third = order(one, 3);
  order(one, 0);
  EXPECT_EQ(order(one, 3), third) << "also after other epochs were run";
  EXPECT_NE(order(one, 4), third);
  EXPECT_NE(order(data.shuffle(64, 8), 3), third);
  EXPECT_NE(order(data.shuffle(64, 3), 7), third) << "seed and epoch are not interchangeable";
}

TEST(Shuffle, IsTheSameForRowsAndForMadeElements) {
  const auto data = numbered(100);
  for (const int buffer : {1, 9, 100}) EXPECT_EQ(order(as_batches_of_one(data).shuffle(buffer, 4), 2), order(data.shuffle(buffer, 4), 2));
}

TEST(Shuffle, OfBatchesKeepsBatchesWhole) {
  const auto batches = testing::elements(numbered(60).batch(6).shuffle(10, 1));
  ASSERT_EQ(batches.size(), 10U);
  std::set<int> firsts;
  for (const auto& batch : batches) {
    firsts.insert(batch[0]);
    for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(batch[i], batch[0] + static_cast<int>(i));
  }
  EXPECT_EQ(firsts.size(), 10U);
  EXPECT_NE(batches[0][0] + batches[1][0] * 100 + batches[2][0] * 10000, 0 + 6 * 100 + 12 * 10000);
}

TEST(Shuffle, RefusesAnEmptyBuffer) {
  EXPECT_NE(error_of([] { numbered(3).shuffle(0); }).find("at least 1"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
