// One launch from what its warps do: waves, occupancy, issue rates, chains, memory; and published micro-benchmarks.
#include "simulator/clock/kernel_launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>

#include "simulator/clock/micro_benchmarks.h"

namespace lockstep::clock {
namespace {

constexpr std::size_t at(Issue issue) { return static_cast<std::size_t>(issue); }

const Machine& machine(const char* name) {
  static std::map<std::string, Machine> known;
  const auto [found, fresh] = known.try_emplace(name);
  if (fresh) found->second = *find_machine(name);
  return found->second;
}

// A block of this reads, computes in a chain and writes.
WarpWork some_work() {
  WarpWork work;
  work.instructions[at(Issue::fp32)] = 2000;
  work.instructions[at(Issue::integer)] = 500;
  work.instructions[at(Issue::memory)] = 20;
  work.sectors = 80;
  work.chain[at(Issue::fp32)] = 1500;
  work.chain[at(Issue::memory)] = 10;
  return work;
}

TEST(KernelLaunch, AFewBlocksTakeAsLongAsOneAndAFullCardsTimeGrowsWithThem) {
  const Machine& t4 = machine("t4");
  std::printf("blocks  microseconds  waves  limit\n");
  double before = 0;
  for (const std::uint64_t blocks : {1, 10, 40, 400, 4000}) {
    const LaunchTime time = launch_time(t4, {blocks, 256}, some_work());
    std::printf("%6llu %13.2f %6.2f  %s\n", static_cast<unsigned long long>(blocks), time.us, time.waves, time.limit);
    EXPECT_GE(time.body, before) << blocks;
    before = time.body;
  }
  const auto body = [&](std::uint64_t blocks) { return launch_time(t4, {blocks, 256}, some_work()).body; };
  EXPECT_EQ(body(1), body(40));        // a multiprocessor each
  EXPECT_GT(body(400), 2 * body(40));  // ten on each, four at a time
  EXPECT_NEAR(body(4000) / body(400), 10, 0.5);
  for (std::uint64_t blocks = 1; blocks < 700; ++blocks) EXPECT_LE(body(blocks), body(blocks + 1)) << blocks;
}

TEST(KernelLaunch, RegistersLimitOccupancy) {
  const Occupancy few = occupancy(machine("t4"), {4000, 256, 32}), many = occupancy(machine("t4"), {4000, 256, 128});
  EXPECT_STREQ(few.limit, "warps");
  EXPECT_EQ(few.warps, 32);
  EXPECT_STREQ(many.limit, "registers");  // 65,536 / (128 x 256)
  EXPECT_EQ(many.blocks, 2);
  WarpWork chain;
  chain.chain[at(Issue::memory)] = 100;
  EXPECT_NEAR(launch_time(machine("t4"), {4000, 256, 128}, chain).body / launch_time(machine("t4"), {4000, 256, 32}, chain).body, 2, 1e-9);
}

TEST(KernelLaunch, SharedMemoryLimitsOccupancy) {
  const Occupancy t4 = occupancy(machine("t4"), {4000, 128, 32, 27 << 10}), a100 = occupancy(machine("a100x8"), {4000, 128, 32, 27 << 10});
  EXPECT_STREQ(t4.limit, "shared memory");
  EXPECT_EQ(t4.blocks, 2);    // of 64 KiB
  EXPECT_EQ(a100.blocks, 5);  // 164 KiB, and 1 KiB of each block is the system's
  EXPECT_THROW(launch_time(machine("t4"), {1, 128, 32, 80 << 10}, some_work()), std::invalid_argument);
}

TEST(KernelLaunch, DependentLoadsAreSlowerThanAsManyIndependentOnes) {
  WarpWork independent;
  independent.instructions[at(Issue::memory)] = 64;
  independent.sectors = 64 * 4;
  independent.chain[at(Issue::memory)] = 1;
  WarpWork dependent = independent;
  dependent.chain[at(Issue::memory)] = 64;
  for (const char* name : {"t4", "v100x8", "a100x8", "h100x8"}) {
    const auto ratio = [&](std::uint64_t blocks, int threads) {
      return launch_time(machine(name), {blocks, threads}, dependent).body /
             launch_time(machine(name), {blocks, threads}, independent).body;
    };
    EXPECT_GT(ratio(1, 32), 20) << name;
    EXPECT_NEAR(ratio(100'000, 1024), 1, 1e-9) << name;  // other warps hide it; memory is the limit
  }
}

TEST(KernelLaunch, CacheHitsSpareMemoryAndShortenChains) {
  WarpWork work;
  work.instructions[at(Issue::memory)] = 64;
  work.sectors = 64 * 4;
  WarpWork in_l2 = work, half = work;
  in_l2.l2_hits = 1;
  half.l2_hits = 0.5;
  const Launch large{100'000, 256};
  EXPECT_NEAR(launch_time(machine("t4"), large, half).body / launch_time(machine("t4"), large, work).body, 0.5, 1e-9);
  EXPECT_STREQ(launch_time(machine("t4"), large, in_l2).limit, "L2");
}

TEST(KernelLaunch, BankConflictsAndScatteredSectorsTakeTurns) {
  WarpWork plain;
  plain.instructions[at(Issue::memory)] = 100;
  WarpWork conflicts = plain, scattered = plain;
  conflicts.shared_passes = 31 * 100;
  scattered.sectors = 32 * 100;
  scattered.l1_hits = 1;
  const Launch full{40, 1024};
  EXPECT_GT(launch_time(machine("t4"), full, conflicts).body, 10 * launch_time(machine("t4"), full, plain).body);
  EXPECT_GT(launch_time(machine("t4"), full, scattered).body, 5 * launch_time(machine("t4"), full, plain).body);
  EXPECT_STREQ(launch_time(machine("t4"), {4000, 1024}, conflicts).limit, "shared memory and L1");
}

TEST(KernelLaunch, DoublePrecisionHasItsOwnRate) {
  for (const auto& [name, part] : {std::pair{"t4", 32.0}, {"v100x8", 2.0}, {"a100x8", 2.0}, {"h100x8", 2.0}}) {
    WarpWork single, twice;
    single.instructions[at(Issue::fp32)] = twice.instructions[at(Issue::fp64)] = 1000;
    EXPECT_NEAR(launch_time(machine(name), {100'000, 256}, twice).body / launch_time(machine(name), {100'000, 256}, single).body, part,
                1e-9)
        << name;
  }
}

TEST(KernelLaunch, FusedMultiplyAddsReachThePeakOfTheDataSheet) {
  for (const char* name : {"t4", "v100x8", "a100x8", "h100x8", "2xh100-pcie"}) {
    WarpWork work;
    work.instructions[at(Issue::fp32)] = 1000;
    const std::uint64_t blocks = 64 * static_cast<std::uint64_t>(machine(name).multiprocessors);
    const double flops = 2.0 * 32 * 8 * 1000 * static_cast<double>(blocks);
    EXPECT_NEAR(flops / launch_time(machine(name), {blocks, 256}, work).body, machine(name).peak_tflops[0], 1e-6) << name;
  }
}

// Over random launches: more of anything is never faster, no launch is faster than memory and arithmetic allow, and every limit is named.
TEST(KernelLaunch, MoreWorkIsNeverFaster) {
  std::mt19937 random(22);
  const auto upto = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  for (int i = 0; i < 2000; ++i) {
    const Machine& card = machine(i % 2 == 0 ? "t4" : "h100x8");
    Launch launch{1 + static_cast<std::uint64_t>(upto(5000)), 1 + static_cast<int>(upto(1023)), 16 + static_cast<int>(upto(48)),
                  static_cast<std::size_t>(upto(40000))};
    WarpWork work;
    for (double& count : work.instructions) count = upto(1000);
    for (double& count : work.chain) count = upto(50);
    work.sectors = upto(2000);
    work.shared_passes = upto(300);
    work.l1_hits = upto(1);
    work.l2_hits = upto(1);
    const LaunchTime time = launch_time(card, launch, work);
    ASSERT_TRUE(std::isfinite(time.body) && time.body > 0);
    EXPECT_STRNE(time.limit, "");
    EXPECT_LE(time.occupancy.warps * 32, card.threads_per_multiprocessor);
    const double missed =
        work.sectors * 32 * static_cast<double>(launch.blocks) * ((launch.threads + 31) / 32) * (1 - work.l1_hits) * (1 - work.l2_hits);
    EXPECT_GE(time.body * card.memory_gb_s, missed * 1e3 * (1 - 1e-12));
    WarpWork more = work;
    switch (i % 5) {
      case 0:
        more.instructions[static_cast<std::size_t>(i / 5 % 6)] *= 2;
        break;
      case 1:
        more.chain[static_cast<std::size_t>(i / 5 % 6)] *= 2;
        break;
      case 2:
        more.sectors *= 2;
        break;
      case 3:
        more.shared_passes *= 2;
        break;
      default:
        launch.blocks *= 2;
        break;
    }
    EXPECT_GE(launch_time(card, launch, more).body, time.body) << i;
  }
}

// Of FLOPs and bytes alone: a launch that fills the card is the roofline, and one block of the same work is far from it.
TEST(KernelLaunch, WhatOnlyHasACostIsTheRooflineWhereTheCardIsFull) {
  for (const char* name : {"t4", "v100x8", "a100x8", "h100x8"}) {
    const Machine& card = machine(name);
    const Efficiency& efficiency = card.efficiency[static_cast<std::size_t>(Kind::streaming)];
    const Launch many{64 * static_cast<std::uint64_t>(card.multiprocessors), 256}, one{1, 256};
    const double bytes = 1e9, flops = 1e12;
    const double memory = bytes * 1e3 / (card.memory_gb_s * efficiency.memory),
                 compute = flops / (card.peak_tflops[0] * efficiency.compute[0]);
    EXPECT_NEAR(launch_time(card, many, work_of(card, many, Kind::streaming, 0, bytes)).body, memory, 1e-6 * memory) << name;
    EXPECT_NEAR(launch_time(card, many, work_of(card, many, Kind::streaming, flops, 0)).body, compute, 1e-6 * compute) << name;
    EXPECT_GT(launch_time(card, one, work_of(card, one, Kind::streaming, 0, bytes)).body, 10 * memory) << name;
    EXPECT_GT(launch_time(card, one, work_of(card, one, Kind::streaming, flops, 0)).body, 10 * compute) << name;
  }
}

TEST(KernelLaunch, AMachineWithoutFiguresOfWarpsIsNamed) {
  try {
    launch_time(machine("cpu"), {1, 32}, some_work());
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("\"cpu\""), std::string::npos) << error.what();
  }
}

TEST(KernelLaunch, PublishedMicroBenchmarksAreNear) {
  ASSERT_EQ(micro_benchmarks().size(), 16U);
  for (const MicroBenchmark& row : micro_benchmarks()) {
    const double most = row.measure == "issue interval" || row.fitted ? 1e-9 : 0.5;
    EXPECT_NEAR(modelled(row) / row.published, 1, most) << row.machine << ", " << row.measure << ", " << row.of;
  }
}

}  // namespace
}  // namespace lockstep::clock
