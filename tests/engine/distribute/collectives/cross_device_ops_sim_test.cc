// Reductions under seeded schedules: a missing event between two streams shows as a wrong sum.
#include <gtest/gtest.h>

#include "simulator/gpu/runtime/control.h"
#include "tests/engine/distribute/collectives/support/reduction_bench.h"

namespace lockstep {
namespace {

using testing::Bench;
using testing::integers;

class UnderSchedules : public ::testing::TestWithParam<std::string> {};

TEST_P(UnderSchedules, ReductionsAndBroadcastsAreOrdered) {
  const std::string name = GetParam();
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    sim::set_schedule_seed(seed);
    {
      const int replicas = 2 + static_cast<int>(seed % 4);
      Bench bench(name, name == "nccl" ? testing::whole_cards(replicas) : testing::logical_gpus(replicas), 1000);
      for (const std::int64_t n : {1000, 3}) {
        const auto values = integers(bench.replicas(), n, seed);
        for (const bool broadcast : {false, true}) {
          std::vector<float> expected = values[0];
          for (std::size_t r = 1; r < values.size() && !broadcast; ++r) {
            for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += values[r][i];
          }
          const auto found = bench.reduce(values, nullptr, broadcast);
          for (std::size_t r = 0; r < found.size(); ++r) {
            ASSERT_EQ(found[r], expected) << name << ", seed " << seed << ", replica " << r << ", " << n << " elements";
          }
        }
      }
    }
    sim::set_schedule_seed(0);
  }
}
INSTANTIATE_TEST_SUITE_P(CrossDeviceOps, UnderSchedules, ::testing::Values("nccl", "ring", "one-device"), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace lockstep
