// The hook that breaks one copy: its words, and that the checks see one bit on one replica.
#include "lockstep/flipped_bit.h"

#include <gtest/gtest.h>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/optim/adam.h"
#include "lockstep/error.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

TEST(FlippedBit, IsSaidInThreeWords) {
  const FlippedBit bit = parse_flipped_bit("step=12,variable=dense_1/kernel,replica=3");
  EXPECT_EQ(bit.replica, 3);
  EXPECT_EQ(bit.variable, "dense_1/kernel");
  EXPECT_EQ(bit.step, 12);
  for (const std::string words : {"", "replica=1", "replica=1,variable=w", "replica=1,variable=w,step=0", "replica=-1,variable=w,step=1",
                                  "replica=x,variable=w,step=1", "replica=1,variable=,step=1", "replica=1,variable=w,step=1,",
                                  "replica=1,variable=w,step=1,more=2", "replica=1,replica=1,variable=w,step=1",
                                  "replica=1 ,variable=w,step=1", "replica=99999999999,variable=w,step=1", "replica=1,variable=w,step=1e3"})
    EXPECT_THROW(parse_flipped_bit(words), Error) << words;
}

struct BrokenRun {
  BrokenRun(Gpus there, const std::string& algorithm, const std::string& words, bool check) : gpus(std::move(there)) {
    StepOptions options;
    options.check_mirrored = check;
    options.flipped_bit = parse_flipped_bit(words);
    step.emplace(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
    step->set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
    initialize(step->replica(0), 3);
  }
  // What the steps say; empty when nothing.
  std::string train(int steps) {
    try {
      for (int k = 0; k < steps; ++k) step->train(random_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  Gpus gpus;
  std::optional<MirroredStep> step;
};

std::string first_variable() { return small_graph().layout().specs().front().name; }

TEST(FlippedBit, IsNamedByTheCheckInItsStep) {
  for (const bool cards : {false, true}) {
    Gpus gpus = cards ? whole_cards(3) : logical_gpus(3);
    if (gpus.pointers.empty()) GTEST_SKIP() << "fewer cards here";
    BrokenRun run(std::move(gpus), cards ? "nccl" : "one-device", "replica=2,variable=" + first_variable() + ",step=2", true);
    EXPECT_EQ(run.train(1), "");
    const std::string text = run.train(1);
    for (const std::string& part : std::vector<std::string>{"after step 2", "variable " + first_variable(), "on replica 2 differs"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(FlippedBit, StaysInThatCopy) {
  for (const std::string algorithm : {"one-device", "ring", "tree", "hierarchical-copy"}) {
    BrokenRun run(logical_gpus(4), algorithm, "replica=1,variable=" + first_variable() + ",step=1", false);
    ASSERT_EQ(run.train(5), "");
    const std::vector<std::uint64_t> sums = run.step->checksums();
    ASSERT_EQ(sums.size(), 4U);
    EXPECT_NE(sums[1], sums[0]) << algorithm;
    EXPECT_EQ(sums[2], sums[0]) << algorithm;
    EXPECT_EQ(sums[3], sums[0]) << algorithm;
  }
}

TEST(FlippedBit, ThatCannotBeFlippedIsAnError) {
  EXPECT_NE(BrokenRun(logical_gpus(2), "ring", "replica=2,variable=" + first_variable() + ",step=1", false).train(1).find("no replica 2"),
            std::string::npos);
  EXPECT_NE(BrokenRun(logical_gpus(2), "ring", "replica=1,variable=none,step=1", false).train(1).find("no variable \"none\""),
            std::string::npos);
  EXPECT_NE(BrokenRun(logical_gpus(2), "one-copy", "replica=1,variable=" + first_variable() + ",step=1", false).train(1).find("one-copy"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
