// The step as a whole: many replicas equal one device, replicas stay equal, failures come back with replica and phase.
#include "engine/distribute/step/mirrored_step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/ops/elementwise.h"
#include "engine/optim/adam.h"
#include "engine/optim/sgd.h"
#include "lockstep/error.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

StepOptions checking(const std::string& algorithm = "ring") {
  StepOptions options;
  options.check_mirrored = algorithm != "one-copy";  // which has no copies to compare
  options.first_bucket_bytes = 256;                  // several buckets also in a small model
  options.bucket_bytes = 512;
  return options;
}

// A step with a loss whose sums are exact, from integer weights.
struct IntegerStep {
  IntegerStep(Gpus there, const std::string& algorithm)
      : gpus(std::move(there)), step(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), checking(algorithm), nullptr) {
    step.set_training(std::make_shared<IntegerLoss>(), std::make_shared<SGDImpl>(1.0F / 64, 0.0F, false), {});
    set_integer_weights(step.replica(0), 1);
    step.replicate();
  }
  std::vector<float> weights(int replica = 0) { return download(step.replica(replica), step.replica(replica).variables().weights()); }

  Gpus gpus;
  MirroredStep step;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AnyNumberOfReplicas : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(AnyNumberOfReplicas, EqualsOneDeviceBitForBit) {
  const auto& [algorithm, replicas] = GetParam();
  for (const std::int64_t batch : {16, 8, 4, 2, 1}) {  // uneven for 3, 5, 6 and 7, and smaller than the number of replicas
    IntegerStep one(logical_gpus(1), "one-device");
    Gpus gpus = algorithm == "nccl" ? whole_cards(replicas) : logical_gpus(replicas);
    if (gpus.pointers.empty()) GTEST_SKIP() << "fewer cards here";
    IntegerStep many(std::move(gpus), algorithm);
    const std::vector<float> before = one.weights();
    for (std::uint32_t k = 0; k < 2; ++k) {
      for (IntegerStep* each : {&one, &many}) {  // integers again: after an update there are fractions, and products of them are rounded
        set_integer_weights(each->step.replica(0), k + 1);
        each->step.replicate();
      }
      const Array x = integer_samples({6, 6, 1}, batch, 100 + k);
      const Array y = labels(batch, 3, k);
      one.step.train(x, y);
      many.step.train(x, y);
    }
    const std::vector<float> expected = one.weights();
    ASSERT_FALSE(same_bits(before, expected)) << "nothing was learnt: the comparison would be empty";
    for (const float value : expected) ASSERT_TRUE(std::isfinite(value));
    for (int r = 0; r < replicas; ++r) EXPECT_TRUE(same_bits(many.weights(r), expected)) << "batch " << batch << ", replica " << r;
    EXPECT_EQ(many.step.iterations(), 2);
    EXPECT_EQ(many.step.totals().samples, 2 * batch);
    EXPECT_EQ(many.step.totals().sums.at(0), 2.0 * static_cast<double>(batch));  // that loss is 1 for each sample
  }
}
INSTANTIATE_TEST_SUITE_P(MirroredStep, AnyNumberOfReplicas,
                         ::testing::Combine(::testing::ValuesIn(cross_device_ops_names()), ::testing::Range(1, 9)), [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(MirroredStep, ReplicateMakesDifferentReplicasEqual) {
  Gpus gpus = logical_gpus(3);
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), checking(), nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  for (int r = 0; r < 3; ++r) initialize(step.replica(r), static_cast<std::uint64_t>(r) + 1);
  const std::vector<std::uint64_t> before = step.checksums();
  EXPECT_NE(before[0], before[1]);
  EXPECT_NE(before[0], before[2]);
  EXPECT_NE(before[1], before[2]);
  step.replicate();
  const std::vector<std::uint64_t> after = step.checksums();
  EXPECT_EQ(after[0], before[0]) << "replica 0 is the one that is copied";
  EXPECT_EQ(after[1], after[0]);
  EXPECT_EQ(after[2], after[0]);
}

TEST(MirroredStep, BatchesOfChangingSizesTrainAndCountEverySample) {
  Gpus gpus = logical_gpus(2);
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), checking(), nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F),
                    {make_metric("accuracy")});
  initialize(step.replica(0), 3);
  std::int64_t samples = 0;
  for (const std::int64_t n : {8, 8, 5, 1, 8, 3, 13}) {
    step.train(random_samples({6, 6, 1}, n, static_cast<std::uint32_t>(n)), labels(n, 3, static_cast<std::uint32_t>(n)));
    samples += n;
  }
  const MirroredStep::Totals totals = step.totals();
  EXPECT_EQ(totals.samples, samples);
  ASSERT_EQ(totals.sums.size(), 2U);
  EXPECT_TRUE(std::isfinite(totals.sums[0]));
  EXPECT_GT(totals.sums[0], 0);
  EXPECT_GE(totals.sums[1], 0);
  EXPECT_LE(totals.sums[1], static_cast<double>(samples));
  EXPECT_EQ(totals.sums[1], std::floor(totals.sums[1]));
  step.clear_totals();
  EXPECT_EQ(step.totals().samples, 0);
  EXPECT_EQ(step.totals().sums[0], 0);
}

// Without overlap phase 4 begins when backward has ended: the same sums in the same order.
TEST(MirroredStep, TrainsToTheSameBitsWithoutOverlap) {
  for (const std::string& algorithm : cross_device_ops_names()) {
    const auto trained = [&](bool overlap) {
      StepOptions options = checking(algorithm);
      options.overlap = overlap;
      Gpus gpus = algorithm == "nccl" ? whole_cards(3) : logical_gpus(3);
      std::vector<std::uint64_t> sums;
      if (!gpus.pointers.empty()) {
        MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
        step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
        initialize(step.replica(0), 3);
        const std::uint64_t before = step.checksums().front();
        for (const std::uint32_t seed : {1, 2, 3}) step.train(random_samples({6, 6, 1}, 8, seed), labels(8, 3, seed));
        sums = step.checksums();
        EXPECT_NE(sums.front(), before) << "nothing was learnt: the comparison would be empty";
      }
      return sums;
    };
    const std::vector<std::uint64_t> with = trained(true), without = trained(false);
    if (with.empty()) GTEST_SKIP() << "fewer cards here for " << algorithm;
    EXPECT_EQ(without, with) << algorithm;
  }
}

TEST(MirroredStep, PredictAndEvaluateDoNotDependOnTheNumberOfReplicas) {
  const Array x = random_samples({6, 6, 1}, 7, 1);
  const Array y = labels(7, 3, 1);
  std::vector<float> expected;
  std::vector<double> expected_sums;
  for (int replicas = 1; replicas <= 8; replicas += (replicas < 4 ? 1 : 4)) {
    Gpus gpus = logical_gpus(replicas);
    MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), checking(), nullptr);
    step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<SGDImpl>(0.1F, 0.0F, false),
                      {make_metric("accuracy")});
    initialize(step.replica(0), 3);
    const Array out = step.predict(x);
    ASSERT_EQ(out.shape(), (Shape{7, 3}));
    const std::vector<float> found(out.data<float>(), out.data<float>() + out.size());
    step.evaluate(x, y);
    const std::vector<double> sums = step.totals().sums;
    if (expected.empty()) expected = found;
    if (expected_sums.empty()) expected_sums = sums;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5F) << replicas << " replicas";
    EXPECT_NEAR(sums[0], expected_sums[0], 1e-4);
    EXPECT_EQ(sums[1], expected_sums[1]);
    EXPECT_EQ(step.iterations(), 0);
  }
}

TEST(MirroredStep, AWarmStepAllocatesNothing) {
  Gpus gpus = logical_gpus(2);
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), checking(), nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<AdamImpl>(1e-3F, 0.9F, 0.999F, 1e-7F), {});
  initialize(step.replica(0), 3);
  for (const std::int64_t n : {8, 5}) step.train(random_samples({6, 6, 1}, n, 1), labels(n, 3, 1));
  std::vector<std::uint64_t> before;
  for (LogicalGpu* gpu : gpus.pointers) before.push_back(gpu->arena().allocations());
  for (const std::int64_t n : {8, 5, 8}) step.train(random_samples({6, 6, 1}, n, 1), labels(n, 3, 1));
  for (std::size_t r = 0; r < before.size(); ++r) EXPECT_EQ(gpus.pointers[r]->arena().allocations(), before[r]);
}

TEST(MirroredStep, AChangedWeightIsFoundAndNamed) {
  IntegerStep integers(logical_gpus(3), "ring");
  const Array x = integer_samples({6, 6, 1}, 8, 1);
  const Array y = labels(8, 3, 1);
  integers.step.train(x, y);
  Replica& replica = integers.step.replica(2);
  const int variable = replica.variables().layout().find("dense/bias");
  ASSERT_GE(variable, 0);
  std::vector<float> values = download(replica, replica.variables().variable(variable));
  values[1] += 1;
  ops::upload(replica.compute_context(), values.data(), replica.variables().variable(variable));
  replica.gpu().compute().synchronize();
  try {
    integers.step.train(x, y);
    FAIL() << "the difference was not found";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("dense/bias"), std::string::npos) << text;
    EXPECT_NE(text.find("replica 2"), std::string::npos) << text;
    EXPECT_NE(text.find("step 2"), std::string::npos) << text;
  }
}

// Throws on one replica, in forward's loss: what a replica's own failure looks like.
class FailingLoss : public IntegerLoss {
 public:
  explicit FailingLoss(std::string gpu) : gpu_(std::move(gpu)) {}
  void run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch, const Tensor& losses,
           bool training) const override {
    if (failing && context.gpu->name() == gpu_) throw Error("the loss gave up");
    IntegerLoss::run(context, program, labels, global_batch, losses, training);
  }
  bool failing = true;

 private:
  std::string gpu_;
};

TEST(MirroredStep, AReplicaThatThrowsEndsTheStepWithItsNameAndPhase) {
  for (const std::string algorithm : {"ring", "one-device", "nccl"}) {
    Gpus gpus = algorithm == "nccl" ? whole_cards(3) : logical_gpus(3);
    if (gpus.pointers.empty()) GTEST_SKIP() << "fewer cards here";
    MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops(algorithm), checking(), nullptr);
    const auto loss = std::make_shared<FailingLoss>(gpus.pointers[1]->name());
    step.set_training(loss, std::make_shared<SGDImpl>(1.0F / 64, 0.0F, false), {});
    set_integer_weights(step.replica(0), 1);
    step.replicate();
    const std::uint64_t before = step.checksums()[0];
    try {
      step.train(integer_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
      FAIL() << "the failure was lost";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "replica 1, phase local gradients, step 1: the loss gave up");
    }
    EXPECT_EQ(step.checksums()[0], before) << "a failed step must not change weights";
    EXPECT_EQ(step.iterations(), 0);
    loss->failing = false;
    step.train(integer_samples({6, 6, 1}, 8, 1), labels(8, 3, 1));
    EXPECT_EQ(step.iterations(), 1);
  }
}

TEST(MirroredStep, TooLittleMemoryEndsTheStepWithReplicaAndPhase) {
  Gpus gpus = logical_gpus(2);
  MirroredStep step(small_graph(), gpus.pointers, make_cross_device_ops("ring"), checking(), nullptr);
  step.set_training(make_loss("sparse_categorical_crossentropy"), std::make_shared<SGDImpl>(0.1F, 0.0F, false), {});
  initialize(step.replica(0), 1);
  Arena& arena = gpus.pointers[1]->arena();
  const Buffer hog = arena.allocate(arena.limit() - arena.used() - 4096, "a hog");
  try {
    step.train(random_samples({6, 6, 1}, 64, 1), labels(64, 3, 1));
    FAIL() << "there was memory after all";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("replica 1, phase shard, step 1"), std::string::npos) << text;
    EXPECT_NE(text.find("a hog"), std::string::npos) << text;
  }
}

TEST(MirroredStep, WrongBatchesAreRefusedBeforeAnythingRuns) {
  IntegerStep integers(logical_gpus(2), "ring");
  const Array x = integer_samples({6, 6, 1}, 8, 1);
  EXPECT_THROW(integers.step.train(x, labels(7, 3, 1)), Error);
  EXPECT_THROW(integers.step.train(integer_samples({5, 6, 1}, 8, 1), labels(8, 3, 1)), Error);
  EXPECT_THROW(integers.step.train(x, Array(Shape{8})), Error) << "labels of another type";
  EXPECT_THROW(integers.step.train(Array(Shape{0, 6, 6, 1}), Array(Shape{0}, DType::int32)), Error);
  EXPECT_NO_THROW(integers.step.train(x, labels(8, 3, 1)));
}

}  // namespace
}  // namespace lockstep
