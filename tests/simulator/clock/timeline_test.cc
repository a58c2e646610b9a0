// The discrete-event simulation: order, sharing, waiting, and that no time depends on when something was appended.
#include "simulator/clock/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace lockstep::clock {
namespace {

Task work(double body, int resource, double share = 1) {
  Task task;
  task.body = body;
  task.demand(resource, share);
  return task;
}

Task pause(Time fixed) {
  Task task;
  task.fixed = fixed;
  return task;
}

TEST(Timeline, ALaneRunsItsTasksInOrder) {
  Timeline timeline;
  const int lane = timeline.add_lane();
  std::vector<std::pair<Time, Time>> spans;
  timeline.on_done = [&](int, std::uint64_t, std::uint32_t, Time begin, Time end) { spans.emplace_back(begin, end); };
  for (int i = 1; i <= 5; ++i) timeline.append_at(lane, pause(i * 10), 0);
  timeline.run();
  ASSERT_EQ(spans.size(), 5U);
  Time at = 0;
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(spans[static_cast<std::size_t>(i - 1)].first, at);
    at += i * 10;
    EXPECT_EQ(spans[static_cast<std::size_t>(i - 1)].second, at);
  }
}

TEST(Timeline, TwoOnOneResourceTakeTwiceAsLong) {
  Timeline timeline;
  const int resource = timeline.add_resource();
  const int a = timeline.add_lane(), b = timeline.add_lane();
  timeline.append_at(a, work(1000, resource), 0);
  timeline.append_at(b, work(1000, resource), 0);
  timeline.run();
  EXPECT_EQ(timeline.now(), 2000);
}

TEST(Timeline, HalvesFitBesideEachOther) {
  Timeline timeline;
  const int resource = timeline.add_resource();
  for (int i = 0; i < 2; ++i) timeline.append_at(timeline.add_lane(), work(1000, resource, 0.5), 0);
  timeline.run();
  EXPECT_EQ(timeline.now(), 1000);
}

TEST(Timeline, WhoComesLaterSlowsTheOneThatIsThere) {
  // Alone for 400, then both at half speed: the first has 600 left and ends at 400 + 1200, the second then has 400 left.
  Timeline timeline;
  const int resource = timeline.add_resource();
  std::map<int, Time> ends;
  timeline.on_done = [&](int lane, std::uint64_t, std::uint32_t, Time, Time end) { ends[lane] = end; };
  const int a = timeline.add_lane(), b = timeline.add_lane();
  timeline.append_at(a, work(1000, resource), 0);
  timeline.append_at(b, work(1000, resource), 400);
  timeline.run();
  EXPECT_EQ(ends[a], 1600);
  EXPECT_EQ(ends[b], 2000);
}

TEST(Timeline, SharingCostsWhatTheResourceSays) {
  Timeline timeline;
  const int resource = timeline.add_resource(0.1);
  for (int i = 0; i < 2; ++i) timeline.append_at(timeline.add_lane(), work(1000, resource), 0);
  timeline.run();
  EXPECT_EQ(timeline.now(), 2100);  // 1 / (2 + 0.1) each
}

TEST(Timeline, EnginesServeOneAfterAnother) {
  Timeline timeline;
  const int engines = timeline.add_engines(1);
  for (int i = 0; i < 3; ++i) {
    Task task = pause(100);
    task.engine = engines;
    timeline.append_at(timeline.add_lane(), task, 0);
  }
  timeline.run();
  EXPECT_EQ(timeline.now(), 300);
}

TEST(Timeline, ATaskWaitsForOtherLanes) {
  Timeline timeline;
  const int a = timeline.add_lane(), b = timeline.add_lane();
  Task late = pause(10);
  late.after.push_back({a, 2});
  const auto stamp = std::make_shared<Stamp>();
  late.done = stamp;
  timeline.append_at(b, late, 0);
  timeline.append_at(a, pause(70), 0);
  timeline.append_at(a, pause(30), 0);
  timeline.run();
  EXPECT_EQ(stamp->at, 110);
}

TEST(Timeline, AMeetingEndsWhenTheLastHasCome) {
  Timeline timeline;
  const auto meeting = std::make_shared<Meeting>();
  meeting->expected = 3;
  std::vector<Time> ends;
  timeline.on_done = [&](int, std::uint64_t task, std::uint32_t, Time, Time end) {
    if (task == 2) ends.push_back(end);
  };
  for (int i = 0; i < 3; ++i) {
    const int lane = timeline.add_lane();
    timeline.append_at(lane, pause(100 * (i + 1)), 0);
    Task gate;
    gate.meeting = meeting;
    timeline.append_at(lane, gate, 0);
  }
  timeline.run();
  EXPECT_EQ(ends, std::vector<Time>(3, 300));
}

TEST(Timeline, TheHostRunsAheadUntilItWaits) {
  Timeline timeline;
  const int lane = timeline.add_lane(), host = timeline.add_host();
  Moment last;
  for (int i = 0; i < 4; ++i) {
    timeline.spend(host, 5);
    last = timeline.append(lane, pause(100), host);
  }
  EXPECT_EQ(timeline.settle(host), 20);
  timeline.wait(host, last);
  EXPECT_EQ(timeline.settle(host), 5 + 400);  // the first is issued at 5
  timeline.spend(host, 5);
  timeline.append(lane, pause(1), host);
  timeline.run();
  EXPECT_EQ(timeline.now(), 5 + 400 + 5 + 1);
}

TEST(Timeline, ASlowHostStarvesItsLane) {
  Timeline timeline;
  const int lane = timeline.add_lane(), host = timeline.add_host();
  for (int i = 0; i < 10; ++i) {
    timeline.spend(host, 50);
    timeline.append(lane, pause(10), host);
  }
  timeline.run();
  EXPECT_EQ(timeline.now(), 10 * 50 + 10);
}

TEST(Timeline, HostsThatJoinGoOnAtTheLaterTime) {
  Timeline timeline;
  const int lane = timeline.add_lane(), a = timeline.add_host(), b = timeline.add_host();
  timeline.wait(a, timeline.append(lane, pause(100), a));
  const StampPtr mark = timeline.mark(a);
  timeline.wait(b, mark);
  timeline.spend(b, 7);
  EXPECT_EQ(timeline.settle(b), 107);
}

TEST(Timeline, WaitingForATaskThatIsNeverAppendedTakesForEver) {
  Timeline timeline;
  const int host = timeline.add_host(), lane = timeline.add_lane();
  timeline.wait(host, Moment{lane, 1});
  EXPECT_EQ(timeline.settle(host), kNever);
}

// --- Properties over random programs

struct Program {
  std::vector<std::vector<Task>> lanes;
};

Program random_program(std::mt19937& random, int lanes, int resources) {
  Program program;
  program.lanes.resize(static_cast<std::size_t>(lanes));
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int l = 0; l < lanes; ++l) {
    for (int t = 0, n = 3 + draw(12); t < n; ++t) {
      Task task;
      task.fixed = draw(50);
      task.body = draw(400);
      const int first = draw(resources), second = draw(resources);
      if (task.body > 0) task.demand(first, 1);
      if (task.body > 0 && second != first) task.demand(second, 0.25 * (1 + draw(3)));
      if (l > 0 && draw(3) == 0) {
        const int other = draw(l);
        const auto there = program.lanes[static_cast<std::size_t>(other)].size();
        task.after.push_back({other, 1 + static_cast<std::uint64_t>(draw(static_cast<int>(there)))});
      }
      program.lanes[static_cast<std::size_t>(l)].push_back(task);
    }
  }
  return program;
}

using Ends = std::map<std::pair<int, std::uint64_t>, std::pair<Time, Time>>;

// `order`: the lanes' tasks are appended in some interleaving; `eager`: the simulation is run now and then in between.
Ends run(const Program& program, int resources, std::mt19937* order) {
  Timeline timeline;
  Ends ends;
  timeline.on_done = [&](int lane, std::uint64_t task, std::uint32_t, Time begin, Time end) { ends[{lane, task}] = {begin, end}; };
  for (int r = 0; r < resources; ++r) timeline.add_resource();
  std::vector<std::size_t> next(program.lanes.size(), 0);
  for (std::size_t l = 0; l < program.lanes.size(); ++l) timeline.add_lane();
  for (std::size_t left = program.lanes.size(); left > 0;) {
    std::size_t l = 0;
    while (next[l] == program.lanes[l].size()) ++l;
    if (order != nullptr) {
      do l = (*order)() % program.lanes.size();
      while (next[l] == program.lanes[l].size());
    }
    timeline.append_at(static_cast<int>(l), program.lanes[l][next[l]++], 0);
    if (next[l] == program.lanes[l].size()) --left;
  }
  timeline.run();
  return ends;
}

TEST(TimelineProperty, TheOrderOfAppendingChangesNothing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 5, 3);
    const Ends expected = run(program, 3, nullptr);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(run(program, 3, &random), expected) << "seed " << seed;
  }
}

TEST(TimelineProperty, NothingIsFasterThanAloneAndNoResourceDoesMoreThanItCan) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Program program = random_program(random, 4, 2);
    const Ends ends = run(program, 2, nullptr);
    Time last = 0;
    std::vector<double> demanded(2, 0);
    for (const auto& [place, span] : ends) {
      const Task& task = program.lanes[static_cast<std::size_t>(place.first)][place.second - 1];
      EXPECT_GE(static_cast<double>(span.second - span.first), static_cast<double>(task.fixed) + task.body);
      for (const Moment& before : task.after) EXPECT_GE(span.first, ends.at({before.lane, before.task}).second);
      if (place.second > 1) {
        EXPECT_GE(span.first, ends.at({place.first, place.second - 1}).second);
      }
      for (int d = 0; d < task.demanded; ++d) {
        const Demand& demand = task.demands[static_cast<std::size_t>(d)];
        demanded[static_cast<std::size_t>(demand.resource)] += demand.share * task.body;
      }
      last = std::max(last, span.second);
    }
    for (const double one : demanded) EXPECT_LE(one, static_cast<double>(last) + 1) << "seed " << seed;
  }
}

TEST(TimelineProperty, SharedWorkIsConserved) {
  // Whatever comes when, a resource that is never without work has done exactly that much.
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Timeline timeline;
    const int resource = timeline.add_resource();
    double sum = 0;
    const int first = timeline.add_lane();
    timeline.append_at(first, work(100000, resource), 0);
    sum += 100000;
    for (int i = 0; i < 20; ++i) {
      const double body = 1 + static_cast<double>(random() % 3000);
      timeline.append_at(timeline.add_lane(), work(body, resource), static_cast<Time>(random() % 40000));
      sum += body;
    }
    timeline.run();
    EXPECT_NEAR(static_cast<double>(timeline.now()), sum, 100) << "seed " << seed;  // a picosecond for each change of speed
  }
}

TEST(TimelineProperty, MoreWorkNeverEndsSooner) {
  // On one shared resource, without ties between lanes: any task made longer delays the end, or leaves it.
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    Program program = random_program(random, 4, 1);
    for (auto& lane : program.lanes) {
      for (Task& task : lane) task.after.clear();
    }
    const auto end_of = [](const Ends& ends) {
      Time last = 0;
      for (const auto& [place, span] : ends) last = std::max(last, span.second);
      return last;
    };
    const Time before = end_of(run(program, 1, nullptr));
    auto& lane = program.lanes[random() % program.lanes.size()];
    Task& task = lane[random() % lane.size()];
    if (task.demanded == 0) continue;
    task.body += 500;
    EXPECT_GE(end_of(run(program, 1, nullptr)) + 50, before) << "seed " << seed;
  }
}

TEST(TimelineProperty, AskingInBetweenChangesNothing) {
  // A host that asks for the time after every task gets the same end as one that asks once.
  for (unsigned seed = 0; seed < 40; ++seed) {
    Time ends[2] = {0, 0};
    for (const bool asks : {false, true}) {
      std::mt19937 random(seed);
      Timeline timeline;
      const int resource = timeline.add_resource(), host = timeline.add_host();
      const int a = timeline.add_lane(), b = timeline.add_lane();
      for (int i = 0; i < 30; ++i) {
        timeline.spend(host, static_cast<Time>(random() % 60));
        const Moment moment = timeline.append(random() % 2 ? a : b, work(static_cast<double>(1 + random() % 200), resource), host);
        if (random() % 4 == 0) timeline.wait(host, moment);
        if (asks) timeline.settle(host);
      }
      timeline.run();
      ends[asks ? 1 : 0] = timeline.now();
    }
    EXPECT_EQ(ends[0], ends[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lockstep::clock
