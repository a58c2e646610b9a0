// Dataset::prefetch: elements made ahead on another thread, in the same order.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "tests/engine/data/support/epochs.h"
#include "tests/engine/data/support/tiny_files.h"

namespace lockstep {
namespace {

using testing::elements;
using testing::numbered;

TEST(Prefetch, ChangesNothingAboutTheElements) {
  const Dataset data = numbered(101).shuffle(20, 3).batch(7);
  for (const int depth : {-1, 0, 1, 2, 50}) {
    for (const int epoch : {0, 1, 2}) EXPECT_EQ(elements(data.prefetch(depth), epoch), elements(data, epoch));
    EXPECT_EQ(data.prefetch(depth).cardinality(), data.cardinality());
    EXPECT_EQ(data.prefetch(depth).batch_size(), 7);
    EXPECT_EQ(data.prefetch(depth).sample_shape(), Shape({3}));
  }
  EXPECT_EQ(elements(numbered(20).prefetch(3).batch(6)), elements(numbered(20).batch(6)));
}

TEST(Prefetch, MakesElementsOnAnotherThreadBeforeTheyAreAskedFor) {
  std::promise<std::thread::id> third;
  int made = 0;
  const Dataset data = numbered(100).map([&](Batch batch) {
    if (++made == 3) third.set_value(std::this_thread::get_id());
    return batch;
  });
  const auto iterator = data.prefetch(3).iterate();
  auto maker = third.get_future();  // nothing was asked for
  ASSERT_EQ(maker.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_NE(maker.get(), std::this_thread::get_id());
}

TEST(Prefetch, NeverRunsFurtherAheadThanItsDepth) {
  std::atomic<int> made{0};
  const Dataset data = numbered(200).map([&made](Batch batch) {
    ++made;
    return batch;
  });
  const auto iterator = data.prefetch(4).iterate();
  Batch batch;
  for (int taken = 0; iterator->next(batch); ++taken) {
    EXPECT_LE(made, taken + 1 + 4 + 1) << "those in the queue and the one in the maker's hand";
    std::this_thread::yield();
  }
  EXPECT_EQ(made, 200);
}

TEST(Prefetch, CarriesAnExceptionOverAfterTheElementsBeforeIt) {
  const Dataset data = numbered(20).map([](Batch batch) {
    if (batch.y.data<std::int32_t>()[0] == 5) throw Error("sample 5 is spoilt");
    return batch;
  });
  const auto iterator = data.prefetch(3).iterate();
  Batch batch;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(iterator->next(batch));
    EXPECT_EQ(batch.y.data<std::int32_t>()[0], i);
  }
  EXPECT_EQ(error_of([&] { iterator->next(batch); }), "sample 5 is spoilt");
  EXPECT_EQ(error_of([&] { iterator->next(batch); }), "sample 5 is spoilt") << "and stays that way";
}

TEST(Prefetch, StopsWhenTheIteratorIsDroppedEarly) {
  const Dataset endless = numbered(10).shuffle(5).repeat().batch(3).prefetch(2).prefetch(4);
  for (int taken = 0; taken < 40; ++taken) {
    const auto iterator = endless.iterate(taken);
    Batch batch;
    for (int i = 0; i < taken % 7; ++i) ASSERT_TRUE(iterator->next(batch));
  }
}

}  // namespace
}  // namespace lockstep
