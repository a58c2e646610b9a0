// Sectors of access patterns that are known without counting.
#include <numeric>
#include <random>

#include <backend/cost.h>
#include "simulator/gpu/coalescing/coalescing.h"
#include "tests/simulator/gpu/coalescing/kernels/pattern_kernels.h"
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::testing {

namespace {

using coalescing::Count;
using coalescing::KernelCount;
using test::DeviceArray;

class Pattern : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    sim::set_kernel_mode(sim::KernelMode::faithful);
  }
};

template <typename... Parameters, typename... Arguments>
KernelCount count(unsigned blocks, unsigned threads, void (*kernel)(Parameters...), Arguments... arguments) {
  coalescing::Counter counter;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  annotate_next_launch("pattern", {});
  EXPECT_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
  EXPECT_CUDA(cudaDeviceSynchronize());
  return counter.take()["pattern"];
}

void expect_count(const Count& count, std::uint64_t requests, std::uint64_t sectors, std::uint64_t least, std::uint64_t lanes) {
  EXPECT_EQ(count.requests, requests);
  EXPECT_EQ(count.sectors, sectors);
  EXPECT_EQ(count.least, least);
  EXPECT_EQ(count.lanes, lanes);
}

KernelCount count_reads(std::int64_t stride, std::int64_t offset) {
  const DeviceArray<float> x(1 << 16), y(1024);
  return count(2, 128, read_strided, View<const float>(x.view()), y.view(), stride, offset);
}

TEST_F(Pattern, NeighbouringFloatsAreFourSectorsARequest) {
  const KernelCount counted = count_reads(1, 0);
  expect_count(counted.loads(), 32, 128, 128, 1024);
  expect_count(counted.stores(), 32, 128, 128, 1024);
  EXPECT_EQ(counted.all().efficiency(), 1.0);
}

TEST_F(Pattern, StrideTwoIsEight) { expect_count(count_reads(2, 0).loads(), 32, 256, 128, 1024); }
TEST_F(Pattern, StrideThirtyTwoIsThirtyTwo) { expect_count(count_reads(32, 0).loads(), 32, 1024, 128, 1024); }
TEST_F(Pattern, OneFloatOffIsFive) { expect_count(count_reads(1, 1).loads(), 32, 160, 128, 1024); }
TEST_F(Pattern, EightFloatsOffIsFour) { expect_count(count_reads(1, 8).loads(), 32, 128, 128, 1024); }
TEST_F(Pattern, TheSameForAllIsOne) { expect_count(count_reads(0, 5).loads(), 32, 32, 32, 1024); }

TEST_F(Pattern, StoresAreCountedAsLoadsAre) {
  const DeviceArray<float> x(1024), y(1 << 16);
  const KernelCount counted = count(2, 128, write_strided, View<const float>(x.view()), y.view(), std::int64_t{3}, std::int64_t{0});
  expect_count(counted.loads(), 32, 128, 128, 1024);
  expect_count(counted.stores(), 32, 12 * 32, 128, 1024);
}

TEST_F(Pattern, NarrowAndWideTypes) {
  const DeviceArray<std::uint16_t> halves(1024);
  const DeviceArray<float> floats(1024), others(1024);
  const DeviceArray<double> doubles(1024), more(1024);
  expect_count(count(4, 64, read_halves, View<const std::uint16_t>(halves.view()), floats.view()).loads(), 32, 64, 64, 1024);
  expect_count(count(4, 64, copy_doubles, View<const double>(doubles.view()), more.view()).loads(), 32, 256, 256, 1024);
  const KernelCount wide = count(4, 64, copy_wide, View<const float>(floats.view()), others.view());
  expect_count(wide.loads(), 8, 128, 128, 256);
  expect_count(wide.stores(), 8, 128, 128, 256);
  EXPECT_EQ(wide.loads().sectors_per_request(), 16.0);
}

TEST_F(Pattern, EachArgumentIsCountedByItself) {
  std::vector<std::int32_t> turned(1024);
  for (std::int32_t i = 0; i < 1024; ++i) turned[static_cast<std::size_t>(i)] = i % 32 * 32 + i / 32;
  const DeviceArray<std::int32_t> permutation(turned);
  const DeviceArray<float> x(1024), y(1024);
  KernelCount counted = count(8, 128, gather, View<const std::int32_t>(permutation.view()), View<const float>(x.view()), y.view());
  expect_count(counted.arguments[0].loads, 32, 128, 128, 1024);
  expect_count(counted.arguments[1].loads, 32, 1024, 128, 1024);
  expect_count(counted.arguments[2].stores, 32, 128, 128, 1024);
  EXPECT_EQ(counted.arguments.size(), 3U);
}

// Lanes that leave a loop early wait behind it: turn k of the loop has the lanes that still go on, whatever the others did before.
TEST_F(Pattern, LanesThatLeaveALoopWaitForTheOthers) {
  std::mt19937 random(3);
  std::vector<std::int32_t> counts(64);
  std::int32_t longest[2] = {};
  std::uint64_t lanes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = static_cast<std::int32_t>(random() % 20);
    longest[i / 32] = std::max(longest[i / 32], counts[i]);
    lanes += static_cast<std::uint64_t>(counts[i]);
  }
  const DeviceArray<std::int32_t> device_counts(counts);
  const DeviceArray<float> x(20 * 64), y(64);
  const auto turns = static_cast<std::uint64_t>(longest[0] + longest[1]);
  KernelCount once = count(1, 64, uneven_sums, View<const std::int32_t>(device_counts.view()), View<const float>(x.view()), y.view());
  EXPECT_EQ(once.arguments[1].loads.requests, turns);
  EXPECT_EQ(once.arguments[1].loads.lanes, lanes);
  expect_count(once.stores(), 2, 8, 8, 64);
  KernelCount often =
      count(1, 64, uneven_turns, View<const std::int32_t>(device_counts.view()), View<const float>(x.view()), y.view(), std::int64_t{7});
  EXPECT_EQ(often.arguments[1].loads.requests, 7 * turns);
  EXPECT_EQ(often.arguments[1].loads.lanes, 7 * lanes);
  expect_count(often.stores(), 2, 8, 8, 64);
}

// One lane at a time takes the branch; the others wait for it, and all go on together.
TEST_F(Pattern, ARareBranchIsTakenAloneAndThenAllGoOnTogether) {
  std::mt19937 random(5);
  std::vector<std::int32_t> owners(100);
  for (std::int32_t& owner : owners) owner = static_cast<std::int32_t>(random() % 64);
  const DeviceArray<std::int32_t> device_owners(owners);
  const DeviceArray<float> x(300), y(64);
  KernelCount counted = count(1, 64, rare_branch, View<const std::int32_t>(device_owners.view()), View<const float>(x.view()), y.view());
  expect_count(counted.arguments[0].loads, 200, 200, 200, 6400);
  expect_count(counted.arguments[1].loads, 300, 300, 300, 300);
  expect_count(counted.stores(), 2, 8, 8, 64);
}

TEST_F(Pattern, LanesThatSkipABranchMeetTheOthersBehindIt) {
  const DeviceArray<float> x(1024), y(1024);
  const KernelCount counted = count(1, 256, read_by_half, View<const float>(x.view()), y.view());
  expect_count(counted.loads(), 32, 128, 64, 512);
  expect_count(counted.stores(), 32, 128, 128, 1024);
}

TEST_F(Pattern, SharedMemoryAndTheStackAreNotGlobalMemory) {
  const DeviceArray<float> x(1024), y(1024);
  const KernelCount counted = count(3, 128, reverse_blocks, View<const float>(x.view()), y.view());
  expect_count(counted.loads(), 32, 128, 128, 1024);
  expect_count(counted.stores(), 32, 128, 128, 1024);
}

TEST_F(Pattern, CountsDoNotDependOnTheSchedule) {
  const DeviceArray<float> x(1 << 16), y(1000);
  const auto counted = [&] {
    return count(3, 96, read_strided, View<const float>(x.view()), y.view(), std::int64_t{5}, std::int64_t{2}).loads();
  };
  const Count expected = counted();
  for (const std::uint64_t seed : {1, 2, 3}) {
    sim::set_schedule_seed(seed);
    const Count again = counted();
    expect_count(again, expected.requests, expected.sectors, expected.least, expected.lanes);
  }
}

TEST_F(Pattern, NothingIsCountedWithoutACounterOrInFastMode) {
  sim::set_kernel_mode(sim::KernelMode::fast);
  const DeviceArray<float> x(1024), y(1024);
  EXPECT_EQ(count(2, 128, read_strided, View<const float>(x.view()), y.view(), std::int64_t{1}, std::int64_t{0}).all().requests, 0U);
}

// Random requests against sets of bytes and sectors.
TEST(Request, SectorsAndLeastAreThoseOfSets) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    coalescing::Request request;
    request.lanes = static_cast<int>(random() % 33);
    request.bytes = 1U << random() % 5;
    const std::uint64_t range = 1 + random() % 600;
    std::vector<bool> bytes(2000), sectors(2000);
    for (int l = 0; l < request.lanes; ++l) {
      request.addresses[l] = 320 + random() % range;
      for (std::uint64_t b = 0; b < request.bytes; ++b) {
        bytes[request.addresses[l] + b] = true;
        sectors[(request.addresses[l] + b) / 32] = true;
      }
    }
    const coalescing::SectorCount counted = coalescing::sectors_of(request);
    ASSERT_EQ(counted.touched, static_cast<std::uint64_t>(std::count(sectors.begin(), sectors.end(), true)));
    ASSERT_EQ(counted.least, (static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), true)) + 31) / 32);
  }
}

}  // namespace

}  // namespace lockstep::testing
