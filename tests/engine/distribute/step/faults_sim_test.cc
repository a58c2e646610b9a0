// Every call that a step makes on a replica's GPU fails once: one Error that names the replica and the phase, nothing hangs, and when the
// model goes all memory is back.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/error.h"
#include "simulator/gpu/runtime/control.h"
#include "simulator/gpu/runtime/faults.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr int kReplicas = 3;

class Faults : public ::testing::TestWithParam<std::string> {
 public:
  void SetUp() override { sim::reset_faults(); }
  void TearDown() override { sim::reset_faults(); }

  // A step on cards of their own, so that a device is a replica; those that share a copy share a card.
  struct Run {
    explicit Run(const std::string& algorithm, double deadline_seconds = 20)
        : gpus(algorithm == "one-copy" ? logical_gpus(kReplicas) : whole_cards(kReplicas)) {
      StepOptions options;
      options.first_bucket_bytes = 256;
      options.bucket_bytes = 512;
      options.check_mirrored = algorithm != "one-copy";  // which has no copies to compare
      options.deadline_seconds = deadline_seconds;
      step.emplace(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
      step->set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F),
                         {make_metric("accuracy")});
      initialize(step->replica(0), 3);
    }
    void train() { step->train(random_samples({6, 6, 1}, 7, 1), labels(7, 3, 1)); }
    std::size_t memory_after_the_model_is_gone() {
      step.reset();
      std::size_t used = 0;
      for (LogicalGpu* gpu : gpus.pointers) used += gpu->arena().used();
      return used;
    }
    Gpus gpus;
    std::optional<MirroredStep> step;
  };
};

std::string phase_in(const std::string& text) {
  for (const char* phase : kPhases) {
    if (text.find(std::string("phase ") + phase) != std::string::npos) return phase;
  }
  return "none";
}

// Calls by kind; the thread that makes them has the replica's device current.
TEST_P(Faults, EveryCallOfAStepOnEveryReplicaIsNamedAndNothingIsLeft) {
  std::map<std::string, std::set<int>> found;  // phase -> replicas
  for (const std::string call : {"launch", "copy", "alloc", "collective", "cudaEventRecord", "cudaStreamWaitEvent", "cublasLtMatmul",
                                 "cudnnBackendExecute", "operation"}) {
    for (int replica = 0; replica < kReplicas; ++replica) {
      const std::string device = ":device=" + std::to_string(replica);
      std::uint64_t calls = 0;
      {
        Run run(GetParam());
        sim::arm_faults(call + ":0" + device);
        run.train();
        calls = sim::armed_faults().at(0).seen;
        sim::reset_faults();
      }
      for (std::uint64_t k = 1; k <= calls; ++k) {
        Run run(GetParam());
        sim::arm_faults(call + ":" + std::to_string(k) + device);
        const std::string text = error_of([&] { run.train(); });
        const bool fired = sim::armed_faults().at(0).fired > 0;
        sim::reset_faults();
        sim::clear_device_errors();  // an operation that failed leaves its card unusable, as a real one
        if (fired) {                 // host threads take turns, so a run may make a call or two less
          ASSERT_EQ(text.rfind("replica " + std::to_string(replica) + ", phase ", 0), 0U) << call << " " << k << ": " << text;
          found[phase_in(text)].insert(replica);
        }
        ASSERT_EQ(run.memory_after_the_model_is_gone(), 0U) << call << " " << k << ": " << text;
      }
    }
  }
  for (const char* phase : kPhases) {
    EXPECT_EQ(found[phase], (std::set<int>{0, 1, 2})) << phase;
  }
}

// Its GPU stands still before some operation: the others wait for it, the deadline passes, and it is the one that is named.
TEST_P(Faults, AReplicaThatNeverArrivesIsNamedWhenTheDeadlinePasses) {
  for (int replica = 0; replica < kReplicas; ++replica) {
    const std::string device = ":device=" + std::to_string(replica);
    std::uint64_t operations = 0;
    {
      Run run(GetParam());
      run.train();
      sim::arm_faults("operation:0" + device);
      run.train();
      operations = sim::armed_faults().at(0).seen;
      sim::reset_faults();
    }
    for (std::uint64_t k = 1; k + 3 < operations; k += 9) {
      Run run(GetParam(), 1.0);  // a healthy step takes a hundredth of it, also on a busy machine
      run.train();
      sim::arm_faults("operation:" + std::to_string(k) + ":hang" + device);
      const std::string text = error_of([&] { run.train(); });
      EXPECT_NE(text.find("replica " + std::to_string(replica)), std::string::npos) << "operation " << k << ": " << text;
      EXPECT_NE(text.find("deadline"), std::string::npos) << "operation " << k << ": " << text;
      EXPECT_NE(phase_in(text), "none") << text;
      sim::reset_faults();
      EXPECT_EQ(run.memory_after_the_model_is_gone(), 0U);
    }
  }
}

TEST(FaultsOfAStep, AnUpdateThatFailedLeavesAModelThatSaysSo) {
  sim::reset_faults();
  Faults::Run run("ring");
  run.train();
  sim::arm_faults("launch:0:device=1");
  run.train();
  const std::uint64_t launches = sim::armed_faults().at(0).seen;
  for (std::uint64_t k = launches; k > 0; --k) {  // from the end: comparing in the barrier, then updating
    Faults::Run next("ring");
    next.train();
    sim::arm_faults("launch:" + std::to_string(k) + ":device=1");
    const std::string text = error_of([&] { next.train(); });
    sim::reset_faults();
    if (text.find("replica 1, phase update") == std::string::npos) continue;
    EXPECT_NE(error_of([&] { next.train(); }).find("can't go on"), std::string::npos) << "replicas that may differ were trained on";
    return;
  }
  FAIL() << "no launch of the update was found";
}

// Which replica made a call can't be planned where all have the same card, but every failure names one and its phase.
TEST(FaultsOfAStep, ReplicasThatShareACopyNameOneOfThemAndNothingIsLeft) {
  sim::reset_faults();
  std::set<std::string> phases;
  for (const std::string call : {"launch", "copy", "cudaEventRecord", "cudaStreamWaitEvent", "cublasLtMatmul"}) {
    std::uint64_t calls = 0;
    {
      Faults::Run run("one-copy");
      sim::arm_faults(call + ":0");
      run.train();
      calls = sim::armed_faults().at(0).seen;
      sim::reset_faults();
    }
    for (std::uint64_t k = 1; k <= calls; ++k) {
      Faults::Run run("one-copy");
      sim::arm_faults(call + ":" + std::to_string(k));
      const std::string text = error_of([&] { run.train(); });
      const bool fired = sim::armed_faults().at(0).fired > 0;
      sim::reset_faults();
      sim::clear_device_errors();
      if (fired) {
        ASSERT_EQ(text.rfind("replica ", 0), 0U) << call << " " << k << ": " << text;
        ASSERT_NE(phase_in(text), "none") << call << " " << k << ": " << text;
        phases.insert(phase_in(text));
      }
      ASSERT_EQ(run.memory_after_the_model_is_gone(), 0U) << call << " " << k << ": " << text;
    }
  }
  EXPECT_EQ(phases.size(), 6U);
}

std::vector<std::string> between_cards() {
  std::vector<std::string> names = cross_device_ops_names();
  std::erase(names, "one-copy");
  return names;
}
INSTANTIATE_TEST_SUITE_P(EveryAlgorithm, Faults, ::testing::ValuesIn(between_cards()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace lockstep
