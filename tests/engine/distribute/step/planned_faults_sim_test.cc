// Whatever call fails, and whenever: the step ends with one Error, and nothing is left behind.
#include <gtest/gtest.h>

#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/sgd.h"
#include "lockstep/error.h"
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/faults.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

// Makes a mirrored step, trains twice, reads a weight and destroys the step. Returns how many calls the first plan had seen before the
// destruction: a failure in a destructor is not reported.
std::uint64_t train(const std::string& algorithm) {
  const Gpus gpus = algorithm == "nccl" ? whole_cards(2) : logical_gpus(2);
  StepOptions options;
  options.check_mirrored = true;
  options.first_bucket_bytes = 256;
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
  step.set_training(std::make_shared<IntegerLoss>(), std::make_shared<SGDImpl>(1.0F / 64, 0.0F, false), {});
  set_integer_weights(step.replica(0), 1);
  step.replicate();
  for (std::uint32_t k = 0; k < 2; ++k) step.train(integer_samples({6, 6, 1}, 5, k), labels(5, 3, k));
  download(step.replica(1), step.replica(1).variables().weights());
  const auto plans = sim::armed_faults();
  return plans.empty() ? 0 : plans.front().seen;
}

struct Left {
  std::uint64_t allocations, host_allocations, streams, events;
  bool operator==(const Left&) const = default;
};
Left left() {
  const sim::Counters counters = sim::counters();
  return {counters.live_allocations, counters.live_host_allocations, counters.live_streams, counters.live_events};
}
std::ostream& operator<<(std::ostream& out, const Left& left) {
  return out << left.allocations << " allocations, " << left.host_allocations << " of the host, " << left.streams << " streams, "
             << left.events << " events";
}

class PlannedFaults : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void TearDown() override {
    sim::reset_faults();
    sim::clear_device_errors();
  }
};

TEST_P(PlannedFaults, GiveOneErrorAndLeaveNothing) {
  const auto& [algorithm, call] = GetParam();
  train(algorithm);  // what is kept for good is there
  const Left before = left();
  sim::arm_faults(call + ":0");
  const std::uint64_t calls = train(algorithm);
  ASSERT_EQ(left(), before) << "before any fault";
  ASSERT_GT(calls, 0U) << "nothing to fail";
  std::set<std::uint64_t> which = {1, 2, calls};
  for (std::uint64_t i = 1; i < 6; ++i) which.insert(1 + (calls - 1) * i / 6);
  for (const std::uint64_t k : which) {
    if (k > calls) continue;
    sim::arm_faults(call + ":" + std::to_string(k));
    std::string text;
    try {
      train(algorithm);
    } catch (const Error& error) {
      text = error.what();
    }
    EXPECT_EQ(sim::armed_faults().at(0).fired, 1U);
    EXPECT_NE(text, "") << call << " " << k << " of " << calls << " failed, and no Error says so";
    sim::reset_faults();
    sim::clear_device_errors();
    EXPECT_EQ(left(), before) << call << " " << k << " of " << calls << ": " << text;
  }
  train(algorithm);  // and all works again
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, PlannedFaults,
                         ::testing::Combine(::testing::Values("one-device", "nccl"),
                                            ::testing::Values("alloc", "launch", "copy", "operation", "cudaMallocHost", "cudaEventRecord",
                                                              "cudaStreamCreateWithFlags", "cublasLtMatmul", "cudnnBackendExecute")),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });
INSTANTIATE_TEST_SUITE_P(OfCollectives, PlannedFaults, ::testing::Combine(::testing::Values("nccl"), ::testing::Values("collective")));

}  // namespace
}  // namespace lockstep
