// Where the time of steps went: every phase is measured, nothing twice, and samples and losses are each replica's own.
#include <gtest/gtest.h>

#include <chrono>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr int kReplicas = 3;

std::shared_ptr<OptimizerImpl> adam(int accumulation) {
  auto optimizer = std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F);
  optimizer->set_accumulation_steps(accumulation);
  return optimizer;
}

struct Timed : ReadyStep {
  explicit Timed(int accumulation = 1) : ReadyStep(small_graph(), logical_gpus(kReplicas), "ring", {}, adam(accumulation)) {}
  void train(std::int64_t n, std::uint32_t seed) { step.train(random_samples({6, 6, 1}, n, seed), labels(n, 3, seed)); }
  double of(int replica, Phase phase) const {
    return step.times().at(static_cast<std::size_t>(replica)).seconds[static_cast<std::size_t>(phase)];
  }
};

TEST(PhaseTimes, CoverEveryPhaseAndAddUpToNoMoreThanTheSteps) {
  Timed run;
  run.train(7, 1);  // plans, and phase 1
  const std::vector<ReplicaTimes> before = run.step.times();
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 2; i < 8; ++i) run.train(7, i);
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (int r = 0; r < kReplicas; ++r) {
    const ReplicaTimes now = run.step.times()[static_cast<std::size_t>(r)], &then = before[static_cast<std::size_t>(r)];
    EXPECT_EQ(now.steps - then.steps, 6);
    EXPECT_GT(run.of(r, Phase::replicate), 0);
    EXPECT_EQ(run.of(r, Phase::replicate), then.seconds[0]) << "it happens once";
    double sum = 0;
    for (std::size_t phase = 1; phase < kPhases.size(); ++phase) {
      if (phase == static_cast<std::size_t>(Phase::all_reduce))
        EXPECT_GE(now.seconds[phase], then.seconds[phase]);  // all of it may be hidden
      else
        EXPECT_GT(now.seconds[phase], then.seconds[phase]) << kPhases[phase];
      sum += now.seconds[phase] - then.seconds[phase];
    }
    EXPECT_LE(sum, whole * 1.001);  // an event's time is rounded to half a microsecond
  }
}

TEST(PhaseTimes, CountSamplesAndLossesOfEachReplicaOfTrainingAlone) {
  Timed run;
  double all = 0;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    run.step.clear_totals();
    run.train(7, 2 * epoch);
    run.train(7, 2 * epoch + 1);
    all += run.step.totals().sums[0];
    run.step.clear_totals();
    run.step.evaluate(random_samples({6, 6, 1}, 5, 9), labels(5, 3, 9));
  }
  const std::vector<ReplicaTimes> times = run.step.times();
  EXPECT_EQ(times[0].samples, 6 * 3);
  EXPECT_EQ(times[1].samples, 6 * 2);
  EXPECT_EQ(times[2].samples, 6 * 2);
  EXPECT_NEAR(times[0].loss_sum + times[1].loss_sum + times[2].loss_sum, all, 1e-9 * all);
}

TEST(PhaseTimes, OfReplicasWithoutSamplesAreMeasuredToo) {
  Timed run;
  run.train(2, 1);  // the third has none
  EXPECT_EQ(run.step.times()[2].samples, 0);
  EXPECT_EQ(run.step.times()[2].steps, 1);
  EXPECT_EQ(run.step.times()[2].loss_sum, 0);
}

TEST(PhaseTimes, OfBatchesThatWaitForMoreHaveNoUpdate) {
  Timed run(2);
  run.train(6, 1);
  EXPECT_EQ(run.of(0, Phase::update), 0);
  EXPECT_EQ(run.of(0, Phase::all_reduce), 0);
  run.train(6, 2);
  EXPECT_GT(run.of(0, Phase::update), 0);
  EXPECT_EQ(run.step.times()[0].steps, 2);
}

}  // namespace
}  // namespace lockstep
