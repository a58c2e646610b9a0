// The closed forms of collectives: against single messages that are simulated, and against what must hold for any of them.
#include "simulator/clock/collectives.h"

#include <gtest/gtest.h>

#include "simulator/clock/hardware.h"

namespace lockstep::clock {
namespace {

Machine machine_named(const char* name) {
  std::string problem;
  const auto machine = find_machine(name, &problem);
  EXPECT_TRUE(machine) << problem;
  return *machine;
}

constexpr double kMiB = 1024 * 1024;

// A ring of single messages: in each of 2 (n - 1) steps every rank sends a chunk to its neighbour, which starts its next step when it has
// its own and the neighbour's is there.
double ring_by_messages_us(int ranks, double bytes, double alpha_us, double gb_s) {
  Timeline timeline;
  std::vector<int> lanes, links;
  for (int r = 0; r < ranks; ++r) {
    lanes.push_back(timeline.add_lane());
    links.push_back(timeline.add_resource());
  }
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    for (int r = 0; r < ranks; ++r) {
      const int left = (r + ranks - 1) % ranks;
      Task message;
      message.fixed = from_us(alpha_us);
      message.body = bytes / ranks / (gb_s * 1e9) * kPicoseconds;
      message.demand(links[static_cast<std::size_t>(left)], 1);
      if (step > 0) message.after.push_back({lanes[static_cast<std::size_t>(left)], static_cast<std::uint64_t>(step)});
      timeline.append_at(lanes[static_cast<std::size_t>(r)], message, 0);
    }
  }
  timeline.run();
  return static_cast<double>(timeline.now()) * 1e-6;
}

TEST(Collectives, TheRingIsTheSumOfItsMessages) {
  const Machine machine = machine_named("h100x8");
  for (const int ranks : {2, 3, 5, 8}) {
    for (const double bytes : {4096.0, 3e6, 1e9}) {
      const CollectiveTime time = all_reduce_time(machine, bytes, ranks, Algorithm::ring, Protocol::simple);
      const double messages =
          ring_by_messages_us(ranks, bytes, machine.peer_link.nccl_alpha_us[static_cast<std::size_t>(Protocol::simple)], machine.ring_gb_s);
      const double base = machine.nccl_base_us[static_cast<std::size_t>(Protocol::simple)];
      EXPECT_NEAR(time.total_us() - base, messages, 1e-3 + 1e-6 * messages) << ranks << " ranks, " << bytes << " bytes";
    }
  }
}

TEST(Collectives, TimeGrowsWithBytesAndLatencyWithRanks) {
  for (const char* name : {"4xt4", "a100x8", "h100x8"}) {
    const Machine machine = machine_named(name);
    for (const Collective what : {Collective::all_reduce, Collective::broadcast, Collective::all_gather, Collective::reduce_scatter}) {
      double before = 0;
      for (double bytes = 1; bytes < 1e10; bytes *= 2) {
        const double now = collective_time(machine, what, bytes, 4).total_us();
        EXPECT_GE(now, before) << name << " " << bytes;
        before = now;
      }
    }
    double before = 0;
    for (int nodes = 1; nodes <= 256; nodes *= 2) {
      const double now = collective_time(machine, Collective::all_reduce, 4 * kMiB, nodes * machine.gpus_per_node).total_us();
      EXPECT_GE(now, before * 0.999) << name << " " << nodes << " nodes";
      before = now;
    }
  }
}

TEST(Collectives, BusBandwidthIsTheMachinesWhereMessagesAreLarge) {
  const Machine machine = machine_named("a100x8");
  constexpr double kBytes = 8e9;
  const double us = collective_time(machine, Collective::all_reduce, kBytes, 8).total_us();
  EXPECT_NEAR(2.0 * 7 / 8 * kBytes / us * 1e-3, machine.ring_gb_s, 0.01 * machine.ring_gb_s);
}

TEST(Collectives, ATreeWinsWhereRanksAreManyAndBytesAreFew) {
  const Machine machine = with_nodes(machine_named("h100x8"), 128);
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1024, 1024).algorithm, Algorithm::tree);
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1e10, 16).algorithm, Algorithm::ring);
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1e10, 8).algorithm, Algorithm::in_switch);
}

TEST(Collectives, WhatIsNotAllowedIsNotChosen) {
  const Machine machine = machine_named("h100x8");
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1e10, 8, {true, false, false}).algorithm, Algorithm::ring);
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1e10, 8, {false, true, false}).algorithm, Algorithm::tree);
}

TEST(Collectives, OneRankAndNoBytesTakeNoTime) {
  const Machine machine = machine_named("h100x8");
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 1e6, 1).total_us(), 0);
  EXPECT_EQ(collective_time(machine, Collective::all_reduce, 0, 8).total_us(), 0);
}

TEST(Collectives, BetweenNodesTheNetworkIsTheLimit) {
  Machine machine = machine_named("a100x8");
  machine.network.gb_s = 10;
  const double us = collective_time(machine, Collective::all_reduce, 8e9, 16).total_us();
  EXPECT_NEAR(2.0 * 15 / 16 * 8e9 / us * 1e-3, 10, 0.2);
}

}  // namespace
}  // namespace lockstep::clock
