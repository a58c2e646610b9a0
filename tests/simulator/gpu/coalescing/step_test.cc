// Kernels of the reference models' training steps coalesce, or are named with the reason why they don't.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bench/coalescing_steps.h"
#include "engine/device/check.h"
#include "engine/device/launch.h"
#include "engine/device/stream.h"
#include "tests/simulator/gpu/coalescing/kernels/pattern_kernels.h"

namespace lockstep::testing {

namespace {

using bench::excuse_of;
using coalescing::Counts;

// A sentence for each kernel that touches more sectors than it may.
std::vector<std::string> complaints(const Counts& counts) {
  std::vector<std::string> found;
  for (const auto& [kernel, count] : counts) {
    const bench::Excuse* const excuse = excuse_of(kernel);
    const double expected = excuse != nullptr ? excuse->efficiency : bench::kExpectedEfficiency;
    const double reached = count.all().efficiency();
    if (reached >= expected) continue;
    found.push_back(kernel + " touches sectors of which " + std::to_string(100 * reached) + " % are needed, and " +
                    std::to_string(100 * expected) + " % are expected: ./lockstep bench --coalescing shows by argument where");
  }
  return found;
}

TEST(Steps, KernelsCoalesceOrHaveAnExcuseThatTheyNeed) {
  std::map<std::string, double> worst;
  for (const bench::CountedStep& step : bench::kCountedSteps) {
    const Counts counts = bench::count_step(step);
    EXPECT_GE(counts.size(), 10U) << step.workload;
    EXPECT_EQ(complaints(counts), std::vector<std::string>{}) << step.workload;
    for (const auto& [kernel, count] : counts) {
      double& so_far = worst.emplace(kernel, 1.0).first->second;
      so_far = std::min(so_far, count.all().efficiency());
    }
  }
  for (const bench::Excuse& excuse : bench::kExcuses) {
    ASSERT_EQ(worst.count(excuse.kernel), 1U) << excuse.kernel << " is in no step";
    EXPECT_LT(worst[excuse.kernel], bench::kExpectedEfficiency) << excuse.kernel << " needs no excuse any more";
    EXPECT_LT(worst[excuse.kernel], excuse.efficiency + 0.05) << excuse.kernel << " got better: expect more of it";
  }
}

TEST(Steps, AKernelThatDoesNotCoalesceIsFound) {
  sim::set_kernel_mode(sim::KernelMode::faithful);
  Counts counts;
  {
    coalescing::Counter counter;
    const Stream stream(0);
    float* data = nullptr;
    LOCKSTEP_CHECK(cudaMalloc(&data, 2 * 4096 * sizeof(float)));
    const View<float> x{data, 4096}, y{data + 4096, 4096};
    launch(stream, "careless_transpose", {}, {16, 256}, careless_transpose, x, y, std::int64_t{64}, std::int64_t{64});
    counts = counter.take();
    LOCKSTEP_CHECK(cudaFree(data));
  }
  sim::set_kernel_mode(sim::KernelMode::fast);
  const std::vector<std::string> found = complaints(counts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().rfind("careless_transpose touches sectors of which 22.2", 0), 0U) << found.front();
}

}  // namespace

}  // namespace lockstep::testing
