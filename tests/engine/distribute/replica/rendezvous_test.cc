// Parties that arrive, wait and meet: rounds, deadlines, stops, failures of the last one.
#include "engine/distribute/replica/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

namespace lockstep {
namespace {

using Outcome = Rendezvous::Outcome;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Rendezvous, ARoundIsCompleteWhenAllHaveArrived) {
  Rendezvous rendezvous(3);
  EXPECT_EQ(rendezvous.wait(0, Deadline(0)), Outcome::complete);
  for (const int party : {2, 0}) rendezvous.arrive(party);
  EXPECT_EQ(rendezvous.wait(1, Deadline(0.01)), Outcome::late);
  EXPECT_EQ(rendezvous.missing(), std::vector<int>{1});
  rendezvous.arrive(1);
  EXPECT_EQ(rendezvous.wait(1, Deadline(60)), Outcome::complete);
  EXPECT_EQ(rendezvous.rounds(), 1U);
  EXPECT_EQ(rendezvous.missing(), (std::vector<int>{0, 1, 2}));
}

TEST(Rendezvous, StopEndsWaitsAndLaterMeetings) {
  Rendezvous rendezvous(2);
  std::thread waiting([&] { EXPECT_EQ(rendezvous.wait(1, Deadline(60)), Outcome::stopped); });
  rendezvous.stop();
  waiting.join();
  EXPECT_EQ(message_of([&] { rendezvous.meet(0, Deadline(60), "a sum", [] {}); }), "another replica failed.");
  rendezvous.reset(1);
  EXPECT_EQ(message_of([&] { rendezvous.meet(0, Deadline(60), "a sum", [] {}); }), "");
}

// Every round the last to arrive acts, alone, and the others see what it did.
TEST(Rendezvous, TheLastToMeetActsForAll) {
  constexpr int kParties = 4, kRounds = 500;
  Rendezvous rendezvous(kParties);
  int sum = 0;  // written only inside meetings
  std::array<int, kParties> seen{};
  std::vector<std::thread> threads;
  for (int party = 0; party < kParties; ++party) {
    threads.emplace_back([&, party] {
      for (int round = 1; round <= kRounds; ++round) {
        rendezvous.meet(party, Deadline(60), "a sum", [&] { ++sum; });
        if (sum == round) ++seen[static_cast<std::size_t>(party)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : seen) EXPECT_EQ(count, kRounds);
}

TEST(Rendezvous, ThoseThatAreLateAreNamed) {
  Rendezvous rendezvous(4);
  rendezvous.arrive(2);
  EXPECT_EQ(message_of([&] { rendezvous.meet(0, Deadline(0.01), "a sum", [] {}); }),
            "a sum: replica 1, replica 3 had not come before the deadline passed.");
}

TEST(Rendezvous, AFailureOfTheLastStopsTheOthers) {
  Rendezvous rendezvous(2);
  std::string first;
  std::thread waiting([&] { first = message_of([&] { rendezvous.meet(0, Deadline(60), "a sum", [] {}); }); });
  while (rendezvous.missing() != std::vector<int>{1}) std::this_thread::yield();
  EXPECT_EQ(message_of([&] { rendezvous.meet(1, Deadline(60), "a sum", [] { throw Error("no memory"); }); }), "no memory");
  waiting.join();
  EXPECT_EQ(first, "another replica failed.");
}

}  // namespace
}  // namespace lockstep
