// The tests of lesson 9. Your file is included before this one.
#include "lesson_test.h"
#include "work_graph.h"

namespace lesson {

std::string words(const std::vector<Bucket>& buckets) {
  std::string text;
  for (const Bucket& bucket : buckets)
    text += (text.empty() ? "" : "; ") + std::to_string(bucket.layers) + (bucket.layers == 1 ? " layer, " : " layers, ") +
            std::to_string(bucket.numbers.count) + " numbers";
  return text.empty() ? "none" : text;
}

void expect_buckets(const std::vector<std::int64_t>& sizes, std::int64_t first_limit, std::int64_t limit, const std::vector<int>& layers) {
  const std::vector<Bucket> buckets = make_buckets(sizes, first_limit, limit);
  std::string all, wanted_words;
  for (const std::int64_t size : sizes) all += (all.empty() ? "" : ", ") + std::to_string(size);
  std::vector<Bucket> wanted;
  int layer = 0;
  std::int64_t at = 0;
  for (const int count : layers) {
    Bucket one{layer, count, {at, 0}};
    for (int i = 0; i < count; ++i) one.numbers.count += sizes[static_cast<std::size_t>(layer++)];
    at += one.numbers.count;
    wanted.push_back(one);
  }
  bool same = buckets.size() == wanted.size();
  for (std::size_t i = 0; same && i < wanted.size(); ++i)
    same = buckets[i].first_layer == wanted[i].first_layer && buckets[i].layers == wanted[i].layers &&
           buckets[i].numbers.first == wanted[i].numbers.first && buckets[i].numbers.count == wanted[i].numbers.count;
  EXPECT(same) << "Layers of " << all << " numbers, limits " << first_limit << " (first) and " << limit
               << ".\nWanted buckets: " << words(wanted) << "\nYours:          " << words(buckets)
               << (words(wanted) == words(buckets) ? "\nThe sizes are right, but first_layer or numbers.first is not." : "");
}

TEST(Buckets, AreClosedWhenTheyHaveReachedTheirLimit) { expect_buckets({40, 60, 100, 30, 30, 40}, 100, 100, {2, 1, 3}); }
TEST(Buckets, TheFirstHasALimitOfItsOwn) { expect_buckets({10, 10, 50, 50, 50, 50}, 20, 100, {2, 2, 2}); }
TEST(Buckets, WhatIsLeftIsABucketToo) { expect_buckets({100, 100, 7}, 100, 100, {1, 1, 1}); }
TEST(Buckets, ALayerMayBeLargerThanTheLimit) { expect_buckets({5, 1000, 5, 5}, 10, 10, {2, 2}); }

const std::vector<std::int64_t> kSizes = {30, 50, 20, 40, 10, 60};
const std::vector<Bucket> kBuckets = {{0, 2, {0, 80}}, {2, 2, {80, 60}}, {4, 2, {140, 70}}};

TEST(Overlap, TheSumsAreRight) {
  Backward backward(3, kSizes);
  backward_with_overlap(backward, kBuckets);
  for (const OverlapReplica& one : backward.replicas()) touch(one.replica, one.replica.buffer, one.replica.count, "the update");
  if (backward.log().empty()) FAIL() << "Nothing was computed and nothing reduced.";
  for (int r = 0; r < 3; ++r) {
    std::vector<float> got;
    try {
      got = backward.gradient_of(r);
    } catch (const std::exception&) {
      if (check_mode_complained()) return;  // which says more
      throw;
    }
    std::size_t at = 0;
    for (std::size_t layer = 0; layer < kSizes.size(); ++layer) {
      const float wanted = static_cast<float>(layer + 1) * 6;  // 1 + 2 + 3 times
      REQUIRE(got[at] == wanted) << "Replica " << r << ", layer " << layer << ": the sum should be " << number(wanted) << " and is "
                                 << number(got[at]) << ".";
      at += static_cast<std::size_t>(kSizes[layer]);
    }
  }
}

TEST(Overlap, EachBucketIsSentAsSoonAsItIsComplete) {
  Backward backward(2, kSizes);
  backward_with_overlap(backward, kBuckets);
  int computed = -1;
  std::string order;
  for (const Backward::Entry& entry : backward.log())
    order += (order.empty() ? "" : ", ") + std::string(entry.reduce ? "reduce up to " : "gradient ") + std::to_string(entry.layer);
  std::size_t reduced = 0;
  for (const Backward::Entry& entry : backward.log()) {
    if (!entry.reduce) computed = entry.layer;
    if (!entry.reduce) continue;
    ++reduced;
    REQUIRE(computed >= entry.layer) << "The bucket with layers up to " << entry.layer << " was sent after layer " << computed
                                     << ": it was not complete.\nYour order: " << order << ".";
    REQUIRE(computed == entry.layer) << "The bucket with layers up to " << entry.layer << " was complete, but was sent only after layer "
                                     << computed << ". Nothing overlaps that way.\nYour order: " << order << ".";
  }
  REQUIRE(reduced == kBuckets.size()) << reduced << " of " << kBuckets.size() << " buckets were reduced.\nYour order: " << order << ".";
}

TEST(Overlap, BackwardDoesNotWaitForSums) {
  Backward backward(2, kSizes);
  WorkGraph graph;
  backward_with_overlap(backward, kBuckets);
  graph.stop();
  const std::vector<Work>& work = graph.work();
  int kernels = 0, sums = 0;
  for (std::size_t later = 0; later < work.size(); ++later) {
    sums += work[later].is_message();
    if (work[later].name != "gradient of a layer") continue;
    const int layer = kernels++ / 2;  // of two replicas
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      REQUIRE(!work[earlier].is_message() || !graph.before(static_cast<int>(earlier), static_cast<int>(later)))
          << "The gradient of layer " << layer
          << " waits until an earlier bucket has been reduced: nothing overlaps. Let the compute streams wait for the communication "
             "streams only "
             "once, after the last bucket.";
    }
  }
  EXPECT(sums > 0) << "Nothing was reduced.";
}

TEST(Overlap, TheHostNeverStops) {
  passes_without_code();
  Backward backward(2, kSizes);
  backward_with_overlap(backward, kBuckets);
  EXPECT(host_waits() == 0) << "The host waited " << host_waits() << " times. While it waits it launches nothing, and nothing overlaps.";
}

void expect_time(const std::vector<Bucket>& buckets, double wanted, const std::string& what) {
  const std::vector<double> backward_ms(10, 2.0);
  const double is = finish_time(backward_ms, buckets, 0.6, 0.018);
  EXPECT(std::abs(is - wanted) < 1e-9) << "10 layers of 100 numbers and 2 ms each; a message takes 0.6 ms + 0.018 ms a number. " << what
                                       << ": the last one is done after " << number(wanted) << " ms; you say " << number(is) << " ms.";
}
std::vector<Bucket> of_layers(const std::vector<int>& counts) {
  std::vector<Bucket> buckets;
  int layer = 0;
  for (const int count : counts) {
    buckets.push_back({layer, count, {layer * 100, count * 100}});
    layer += count;
  }
  return buckets;
}
TEST(FinishTime, OneBucketOverlapsNothing) { expect_time(of_layers({10}), 20 + 0.6 + 18, "One bucket"); }
TEST(FinishTime, AMessageForEveryLayerPaysLatency) { expect_time(of_layers(std::vector<int>(10, 1)), 26, "A message a layer"); }
TEST(FinishTime, BucketsInBetween) { expect_time(of_layers({2, 2, 2, 2, 2}), 25, "Buckets of two layers"); }

}  // namespace lesson
