// The tests of lesson 2. Your file is included before this one.
#include "lesson_test.h"
#include "work_graph.h"

namespace lesson {

const std::vector<std::pair<std::int64_t, int>> kCases = {{8, 4}, {10, 4}, {64, 1}, {7, 8}, {3, 4}, {1, 2}, {0, 3}, {257, 8}};

std::string call(std::int64_t samples, int replicas) {
  return "cut_batch(" + std::to_string(samples) + ", " + std::to_string(replicas) + ") gives " + list(cut_batch(samples, replicas));
}

TEST(CutBatch, EveryReplicaHasARange) {
  passes_without_code();
  for (const auto& [samples, n] : kCases) {
    const auto shards = cut_batch(samples, n);
    REQUIRE(shards.size() == static_cast<std::size_t>(n))
        << "cut_batch(" << samples << ", " << n << ") gives " << shards.size() << " ranges for " << n << " replicas.";
  }
}

TEST(CutBatch, EverySampleGoesToExactlyOneReplica) {
  for (const auto& [samples, n] : kCases) {
    std::int64_t next = 0;
    for (const Range& shard : cut_batch(samples, n)) {
      REQUIRE(shard.count >= 0) << call(samples, n) << ": a range has " << shard.count << " samples.";
      if (shard.count == 0) continue;
      REQUIRE(shard.first <= next) << call(samples, n) << ": no replica gets sample " << next << ".";
      REQUIRE(shard.first >= next) << call(samples, n) << ": sample " << shard.first << " goes to two replicas.";
      next = shard.first + shard.count;
    }
    REQUIRE(next >= samples) << call(samples, n) << ": no replica gets sample " << next << "; " << samples - next << " in all are lost.";
    REQUIRE(next <= samples) << call(samples, n) << ": there is no sample " << samples << "; the last one is " << samples - 1 << ".";
  }
}

TEST(CutBatch, SizesDifferByAtMostOne) {
  passes_without_code();
  for (const auto& [samples, n] : kCases) {
    std::int64_t least = samples, most = 0;
    for (const Range& shard : cut_batch(samples, n)) {
      least = std::min(least, shard.count);
      most = std::max(most, shard.count);
    }
    EXPECT(most - least <= 1) << call(samples, n) << ": the largest has " << most << " samples and the smallest " << least
                              << ". All replicas wait for the largest.";
  }
}

TEST(CutBatch, LargerOnesComeFirst) {
  passes_without_code();
  for (const auto& [samples, n] : kCases) {
    const auto shards = cut_batch(samples, n);
    for (std::size_t r = 1; r < shards.size(); ++r) {
      REQUIRE(shards[r - 1].count >= shards[r].count) << call(samples, n) << ": replica " << r - 1 << " has " << shards[r - 1].count
                                                      << " samples and replica " << r << " has more: " << shards[r].count << ".";
    }
  }
}

void send_and_compare(std::int64_t samples, int n, std::int64_t numbers) {
  float* x = nullptr;
  CHECK_CUDA(cudaMallocHost(&x, static_cast<std::size_t>(samples * numbers + 1) * sizeof(float)));
  for (std::int64_t i = 0; i < samples * numbers; ++i) x[i] = static_cast<float>(i / numbers) + 0.001F * static_cast<float>(i % numbers);
  {
    Replicas replicas(n, samples * numbers, [](int, std::int64_t) { return -1.0F; });
    std::vector<Range> shards;  // cut without your function
    for (std::int64_t r = 0, first = 0; r < n; ++r) {
      shards.push_back({first, samples / n + (r < samples % n)});
      first += shards.back().count;
    }
    WorkGraph graph;
    send_shards(x, numbers, shards, replicas.all());
    graph.stop();
    for (const Work& work : graph.work()) {
      if (work.name != "copy" || work.writes < 0) continue;
      EXPECT(work.stream == replicas[work.writes].stream)
          << "The samples of replica " << work.writes << " are copied in another stream than replica " << work.writes
          << "'s own. Its stream does not wait for them, and copies in one stream run one after another.";
    }
    EXPECT(host_waits() == 0) << "send_shards() made the host wait " << host_waits()
                              << " times: the copies to all replicas can run at once.";
    replicas.wait();
    if (!check_mode_complained()) {
      for (int r = 0; r < n; ++r) {
        const Range& shard = shards[static_cast<std::size_t>(r)];
        const std::vector<float> got = replicas.read(r);
        for (std::int64_t i = 0; i < samples * numbers; ++i) {
          const float wanted = i < shard.count * numbers ? x[shard.first * numbers + i] : -1.0F;
          const float is = got[static_cast<std::size_t>(i)];
          if (wanted == is) continue;
          ADD_FAILURE() << "Replica " << r << " should hold samples [" << shard.first << ", " << shard.first + shard.count << ") of "
                        << samples << ", " << numbers << " numbers each. Its number " << i << " should be "
                        << (i < shard.count * numbers ? number(wanted) + " (sample number + position / 1000)" : "untouched (-1)")
                        << ", and it is " << number(is) << ".";
          break;
        }
      }
    }
  }
  cudaFreeHost(x);
}

TEST(SendShards, SamplesOfOneNumber) { send_and_compare(10, 4, 1); }
TEST(SendShards, SamplesOfManyNumbers) { send_and_compare(10, 4, 28); }
TEST(SendShards, FewerSamplesThanReplicas) { send_and_compare(2, 4, 5); }

}  // namespace lesson
