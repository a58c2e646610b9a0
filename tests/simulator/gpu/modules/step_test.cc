// Kernels of the reference models' training steps coalesce, or are named with the reason why they don't.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "bench/warp_steps.h"

namespace lockstep::testing {

namespace {

using KernelCounts = std::map<std::string, ptx::Count>;

// A sentence for each kernel that touches more sectors than it may.
std::vector<std::string> complaints(const KernelCounts& counts, bool excuses) {
  std::vector<std::string> found;
  for (const auto& [kernel, count] : counts) {
    const bench::Excuse* const excuse = excuses ? bench::excuse_of(kernel) : nullptr;
    const double expected = excuse != nullptr ? excuse->efficiency : bench::kExpectedEfficiency;
    const double reached = bench::efficiency(count);
    if (reached >= expected) continue;
    found.push_back(kernel + " touches sectors of which " + std::to_string(100 * reached) + " % are needed, and " +
                    std::to_string(100 * expected) + " % are expected: ./lockstep bench --warps shows by line where");
  }
  return found;
}

TEST(Steps, KernelsCoalesceOrHaveAnExcuseThatTheyNeed) {
  if (!kHasKernelPtx) GTEST_SKIP() << "no nvcc was found when configuring: there is no PTX of the kernels";
  std::map<std::string, double> worst;
  for (const bench::CountedStep& step : bench::kCountedSteps) {
    const KernelCounts counts = bench::WarpCounts(step).by_kernel();
    EXPECT_GE(counts.size(), 10U) << step.workload;
    EXPECT_EQ(complaints(counts, true), std::vector<std::string>{}) << step.workload;
    for (const auto& [kernel, count] : counts) {
      double& so_far = worst.emplace(kernel, 1.0).first->second;
      so_far = std::min(so_far, bench::efficiency(count));
    }
  }
  for (const bench::Excuse& excuse : bench::kExcuses) {
    ASSERT_EQ(worst.count(excuse.kernel), 1U) << excuse.kernel << " is in no step";
    EXPECT_LT(worst[excuse.kernel], bench::kExpectedEfficiency) << excuse.kernel << " needs no excuse any more";
    EXPECT_LT(worst[excuse.kernel], excuse.efficiency + 0.05) << excuse.kernel << " got better: expect more of it";
  }
}

TEST(Steps, AKernelThatDoesNotCoalesceIsFound) {
  if (!kHasKernelPtx) GTEST_SKIP() << "no nvcc was found when configuring: there is no PTX of the kernels";
  const std::vector<std::string> found = complaints(bench::WarpCounts(bench::kCountedSteps[0]).by_kernel(), false);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const std::string& said) { return said.rfind("add_correct touches", 0) == 0; }),
            1);
}

}  // namespace

}  // namespace lockstep::testing
