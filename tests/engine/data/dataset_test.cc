// Batching, taking, repeating, mapping, caching.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/engine/data/support/epochs.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using testing::count_to;
using testing::elements;
using testing::numbered;
using testing::order;

Dataset made(const Dataset& dataset) {
  return dataset.map([](Batch batch) { return batch; });
}

TEST(Dataset, HandsOutSamplesInOrderWithoutABatchExtent) {
  const Dataset data = numbered(5);
  EXPECT_EQ(order(data), count_to(5));
  EXPECT_EQ(data.cardinality(), 5);
  EXPECT_EQ(data.batch_size(), 0);
  EXPECT_EQ(data.sample_shape(), Shape({3}));
  Batch sample;
  ASSERT_TRUE(data.iterate()->next(sample));
  EXPECT_EQ(sample.x.shape(), Shape({3}));
  EXPECT_EQ(sample.y.shape(), Shape());
}

TEST(Dataset, RefusesArraysOfDifferentLength) {
  EXPECT_NE(error_of([] {
              Dataset::from_arrays(Array(Shape{3, 2}), Array(Shape{4}, DType::int32));
            }).find("3 samples and y 4"),
            std::string::npos);
  EXPECT_NE(error_of([] { Dataset::from_arrays(Array(), Array()); }), "");
}

TEST(Dataset, WorksWithoutLabels) {
  const Dataset data = Dataset::from_arrays(Array(Shape{5, 2}), Array());
  for (const Dataset& batches : {data.batch(2), made(data).batch(2), data.batch(2).cache()}) {
    const auto iterator = batches.iterate();
    Batch batch;
    ASSERT_TRUE(iterator->next(batch));
    EXPECT_EQ(batch.x.shape(), Shape({2, 2}));
    EXPECT_TRUE(batch.y.empty());
  }
}

TEST(Dataset, BatchesKeepOrderAndLeaveASmallerLastOne) {
  for (const int n : {0, 1, 7, 8, 9}) {
    for (const int samples : {1, 4, 8, 100}) {
      for (const bool drop : {false, true}) {
        for (const Dataset& data : {numbered(n).batch(samples, drop), made(numbered(n)).batch(samples, drop)}) {
          const auto batches = elements(data);
          EXPECT_EQ(static_cast<int>(batches.size()), drop ? n / samples : (n + samples - 1) / samples);
          EXPECT_EQ(data.cardinality(), static_cast<std::int64_t>(batches.size()));
          EXPECT_EQ(data.batch_size(), samples);
          EXPECT_EQ(data.sample_shape(), Shape({3}));
          EXPECT_EQ(order(data), count_to(drop ? n / samples * samples : n));
          for (std::size_t i = 0; i + 1 < batches.size(); ++i) EXPECT_EQ(static_cast<int>(batches[i].size()), samples);
        }
      }
    }
  }
}

TEST(Dataset, BatchesHaveABatchExtentInFront) {
  Batch batch;
  ASSERT_TRUE(numbered(5).batch(2).iterate()->next(batch));
  EXPECT_EQ(batch.x.shape(), Shape({2, 3}));
  EXPECT_EQ(batch.y.shape(), Shape({2}));
}

TEST(Dataset, BatchesAreCopiesOfTheirSource) {
  const Dataset data = numbered(4);
  Batch batch;
  ASSERT_TRUE(data.batch(4).iterate()->next(batch));
  batch.x.data<float>()[0] = -1;
  EXPECT_EQ(order(data.batch(4)), count_to(4));
}

TEST(Dataset, RefusesToBatchTwiceOrByNothing) {
  EXPECT_NE(error_of([] { numbered(4).batch(0); }), "");
  EXPECT_NE(error_of([] { numbered(4).batch(2).batch(2); }).find("batches of 2 already"), std::string::npos);
}

TEST(Dataset, RefusesABatchOfUnequalSamples) {
  const Dataset ragged = numbered(4).map([](const Batch& batch) {
    return Batch{Array(Shape{batch.y.data<std::int32_t>()[0] + 1}), batch.y};
  });
  Batch batch;
  EXPECT_NE(error_of([&] { ragged.batch(2).iterate()->next(batch); }).find("(1,) and (2,)"), std::string::npos);
}

TEST(Dataset, TakesTheFirstElements) {
  EXPECT_EQ(order(numbered(9).take(4)), count_to(4));
  EXPECT_EQ(order(made(numbered(9)).take(4)), count_to(4));
  EXPECT_EQ(numbered(9).take(4).cardinality(), 4);
  EXPECT_EQ(order(numbered(9).take(0)), count_to(0));
  EXPECT_EQ(order(numbered(9).take(20)), count_to(9));
  EXPECT_EQ(numbered(9).take(20).cardinality(), 9);
  EXPECT_EQ(order(numbered(9).take(-1)), count_to(9));
  EXPECT_EQ(order(numbered(9).batch(2).take(2)), count_to(4));
  EXPECT_EQ(numbered(9).repeat().take(25).cardinality(), 25);
}

TEST(Dataset, RepeatsWithAnotherOrderEachRound) {
  const Dataset shuffled = numbered(20).shuffle(20, 3);
  for (const Dataset& data : {shuffled, made(shuffled)}) {
    const Dataset thrice = data.repeat(3);
    EXPECT_EQ(thrice.cardinality(), 60);
    for (const int epoch : {0, 2}) {
      const auto samples = order(thrice, epoch);
      ASSERT_EQ(samples.size(), 60U);
      for (int round = 0; round < 3; ++round) {
        const std::vector<int> one(samples.begin() + 20 * round, samples.begin() + 20 * (round + 1));
        EXPECT_EQ(one, order(shuffled, 3 * epoch + round));
      }
    }
  }
  EXPECT_EQ(order(numbered(3).repeat(0)), count_to(0));
}

TEST(Dataset, RepeatsWithoutEnd) {
  const Dataset endless = numbered(3).repeat();
  EXPECT_EQ(endless.cardinality(), -1);
  EXPECT_EQ(endless.batch(2).cardinality(), -1);
  EXPECT_EQ(order(endless.take(7)), (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(order(endless.batch(2).take(3)), (std::vector<int>{0, 1, 2, 0, 1, 2})) << "batches reach across rounds";
  EXPECT_EQ(order(numbered(0).repeat()), count_to(0)) << "nothing, repeated for ever, is nothing";
  EXPECT_NE(error_of([&] { endless.cache(); }), "");
}

TEST(Dataset, MapsEveryElementAndKnowsItsShape) {
  const Dataset pairs = numbered(5).map([](const Batch& batch) {
    Array x(Shape{2, 2});
    x.data<float>()[0] = batch.x.data<float>()[0] + 1;
    return Batch{x, batch.y};
  });
  EXPECT_EQ(pairs.sample_shape(), Shape({2, 2}));
  EXPECT_EQ(pairs.batch(3).sample_shape(), Shape({2, 2}));
  EXPECT_EQ(pairs.cardinality(), 5);
  Batch batch;
  ASSERT_TRUE(pairs.batch(3).iterate()->next(batch));
  EXPECT_EQ(batch.x.shape(), Shape({3, 2, 2}));
  EXPECT_EQ(batch.x.data<float>()[8], 21.0F);
  EXPECT_EQ(numbered(5).batch(2).map([](Batch b) { return b; }).sample_shape(), Shape({3}));
}

TEST(Dataset, CachesWhatWasMadeBeforeIt) {
  int calls = 0;
  const Dataset cached = numbered(6)
                             .map([&calls](Batch batch) {
                               ++calls;
                               return batch;
                             })
                             .cache();
  Batch batch;
  cached.iterate()->next(batch);  // not to its end: nothing is kept
  EXPECT_EQ(order(cached), count_to(6));
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(order(cached, 1), count_to(6));
  EXPECT_EQ(calls, 7);
}

TEST(Dataset, CacheIsNotChangedThroughWhatItHandsOut) {
  const Dataset cached = made(numbered(3)).cache();
  for (int run = 0; run < 3; ++run) {
    const auto iterator = cached.iterate();
    Batch batch;
    while (iterator->next(batch)) {
      EXPECT_TRUE(testing::belong_together(batch));
      batch.x.data<float>()[0] = -5;
    }
  }
}

TEST(Dataset, CacheFreezesEpochZeroOfAShuffleWhicheverComesFirst) {
  const Dataset shuffled = numbered(30).shuffle(30, 2);
  for (const Dataset& cached : {shuffled.cache(), made(shuffled).cache()}) {
    for (const int epoch : {5, 0, 1}) EXPECT_EQ(order(cached, epoch), order(shuffled, 0));
  }
  const Dataset reshuffled = numbered(30).cache().shuffle(30, 2);
  EXPECT_NE(order(reshuffled, 0), order(reshuffled, 1));
}

TEST(Dataset, AnIteratorOutlivesItsDataset) {
  std::unique_ptr<Dataset::Iterator> iterator;
  {
    const Dataset data = made(numbered(8).shuffle(3, 1)).batch(3).prefetch(2);
    iterator = data.iterate();
  }
  Batch batch;
  std::int64_t samples = 0;
  while (iterator->next(batch)) samples += batch.y.size();
  EXPECT_EQ(samples, 8);
}

}  // namespace
}  // namespace lockstep
