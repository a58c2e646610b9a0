// Host threads of replicas: they work side by side, failures come back with a name, nobody is waited for without end.
#include "engine/distribute/replica/replica_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lockstep/error.h"
#include "tests/engine/distribute/support/gpus.h"

namespace lockstep {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ReplicaThreads, EveryReplicaRunsOnceARound) {
  ReplicaThreads threads(std::vector<int>(5, 0));
  std::array<std::atomic<int>, 5> runs{};
  for (int round = 0; round < 200; ++round)
    threads.run(
        "work", [&](int r) { ++runs[static_cast<std::size_t>(r)]; }, Deadline(60));
  for (const auto& count : runs) EXPECT_EQ(count.load(), 200);
}

TEST(ReplicaThreads, ReplicasRunAtTheSameTime) {
  ReplicaThreads threads(std::vector<int>(3, 0));
  std::atomic<int> here{0};
  threads.run(
      "meet",
      [&](int) {
        ++here;
        while (here.load() < 3) std::this_thread::yield();
      },
      Deadline(60));
  EXPECT_EQ(here.load(), 3);
}

TEST(ReplicaThreads, TheFirstFailureIsNamedAndTheNextRoundWorks) {
  ReplicaThreads threads(std::vector<int>(4, 0));
  const std::string text = message_of([&] {
    threads.run(
        "phase shard, step 3",
        [](int r) {
          if (r >= 2) throw Error("no memory for " + std::to_string(r));
        },
        Deadline(60));
  });
  EXPECT_EQ(text, "replica 2, phase shard, step 3: no memory for 2");
  std::atomic<int> runs{0};
  threads.run(
      "work", [&](int) { ++runs; }, Deadline(60));
  EXPECT_EQ(runs.load(), 4);
}

TEST(ReplicaThreads, ALateReplicaIsNamed) {
  std::atomic<bool> go{false};
  ReplicaThreads threads(std::vector<int>(2, 0));
  const std::string text = message_of([&] {
    threads.run(
        "phase update, step 1",
        [&](int r) {
          while (r == 1 && !go.load()) std::this_thread::yield();
        },
        Deadline(0.05));
  });
  EXPECT_NE(text.find("replica 1, phase update, step 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("replica 0"), std::string::npos) << text;
  EXPECT_NE(message_of([&] { threads.start("more", [](int) {}); }), "");
  go = true;
  EXPECT_TRUE(threads.drain(Deadline(60)));
}

TEST(BucketBoard, ABucketIsReadyWhenAllReplicasArrived) {
  BucketBoard board;
  board.reset(2, 3);
  for (int r = 0; r < 3; ++r) board.arrive(0);
  EXPECT_EQ(board.wait(0, Deadline(0.01)), BucketBoard::Outcome::ready);
  board.arrive(1);
  EXPECT_EQ(board.wait(1, Deadline(0.01)), BucketBoard::Outcome::late);
  board.stop();
  EXPECT_EQ(board.wait(1, Deadline(60)), BucketBoard::Outcome::stopped);
}

}  // namespace
}  // namespace lockstep
