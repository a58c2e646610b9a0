// Host threads of replicas: they work side by side, failures name the replica, and every wait has an end.
#include "engine/distribute/replica/replica_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tests/engine/distribute/support/gpus.h"

namespace lockstep {
namespace {

// "replica 2: what happened"; empty when nothing is thrown.
std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ReplicaError& error) {
    return replica_names(error.replicas) + ": " + error.what();
  }
  return "";
}

TEST(ReplicaThreads, EveryReplicaRunsOnceARound) {
  ReplicaThreads threads(std::vector<int>(5, 0));
  std::array<std::atomic<int>, 5> runs{};
  for (int round = 0; round < 200; ++round) threads.run([&](int r) { ++runs[static_cast<std::size_t>(r)]; }, Deadline(60));
  for (const auto& count : runs) EXPECT_EQ(count.load(), 200);
}

TEST(ReplicaThreads, ReplicasRunAtTheSameTime) {
  ReplicaThreads threads(std::vector<int>(3, 0));
  std::atomic<int> here{0};
  threads.run(
      [&](int) {
        ++here;
        while (here.load() < 3) std::this_thread::yield();
      },
      Deadline(60));
  EXPECT_EQ(here.load(), 3);
}

TEST(ReplicaThreads, TheFirstFailureIsNamedAndTheNextRoundWorks) {
  ReplicaThreads threads(std::vector<int>(4, 0));
  const std::string text = failure_of([&] {
    threads.run(
        [](int r) {
          if (r >= 2) throw Error("no memory for " + std::to_string(r));
        },
        Deadline(60));
  });
  EXPECT_EQ(text, "replica 2: no memory for 2");
  std::atomic<int> runs{0};
  threads.run([&](int) { ++runs; }, Deadline(60));
  EXPECT_EQ(runs.load(), 4);
}

TEST(ReplicaThreads, ALateReplicaIsNamed) {
  std::atomic<bool> go{false};
  ReplicaThreads threads(std::vector<int>(2, 0));
  const std::string text = failure_of([&] {
    threads.run(
        [&](int r) {
          while (r == 1 && !go.load()) std::this_thread::yield();
        },
        Deadline(0.05));
  });
  EXPECT_EQ(text.rfind("replica 1: the host thread had not finished", 0), 0U) << text;
  EXPECT_NE(failure_of([&] { threads.start([](int) {}); }), "");
  go = true;
  EXPECT_TRUE(threads.drain(Deadline(60)));
}

// A replica that gave up because of another one is not the cause.
TEST(ReplicaThreads, TheCauseIsNamedBeforeReplicasThatGaveUp) {
  ReplicaThreads threads(std::vector<int>(3, 0));
  const auto failing = [&](int cause) {
    return failure_of([&] {
      threads.run(
          [&](int r) {
            if (r == cause) throw Error("the cause");
            throw GaveUp("another replica failed.");
          },
          Deadline(60));
    });
  };
  EXPECT_EQ(failing(2), "replica 2: the cause");
  EXPECT_EQ(failing(-1), "replica 0: another replica failed.");
}

}  // namespace
}  // namespace lockstep
