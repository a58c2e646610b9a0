// Weights of samples and of classes: Keras' numbers, and replicas with uneven shares equal to one device.
#include <gtest/gtest.h>

#include <optional>

#include "lockstep/lockstep.h"
#include "simulator/logical/gpu_registry.h"

namespace lockstep {
namespace {

const Array kX(Shape{5, 2}, std::vector<float>{1, 0.5F, -0.25F, 2, 0.75F, -1, 0.5F, 0.125F, -2, 0.25F});
const Array kY(Shape{5}, std::vector<std::int32_t>{0, 2, 1, 1, 0});
const Array kWeights(Shape{5}, std::vector<float>{0.5F, 2, 0, 1.5F, 3});

class SampleWeight : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { forget_splits(); }
  void TearDown() override {
    strategy_.reset();
    forget_splits();
  }

  Model make() {
    const auto made = [] {
      Sequential model({Dense(3)});
      model.compile(SGD(0.5F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"}, {SparseCategoricalAccuracy("weighted")});
      model.build(Shape{2});
      model.set_weights({{"dense/kernel", Array(Shape{2, 3}, std::vector<float>{0.5F, -0.25F, 0.125F, 0.25F, 1, -0.5F})},
                         {"dense/bias", Array(Shape{3}, std::vector<float>{0.125F, 0, -0.25F})}});
      return model;
    };
    if (GetParam() == 1) return OneDeviceStrategy().scope(made);
    if (!strategy_) strategy_.emplace(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(GetParam()), 64)));
    return strategy_->scope(made);
  }
  static void expect_weights(const Model& model, const std::vector<float>& kernel, const std::vector<float>& bias) {
    const std::vector<NamedArray> weights = model.get_weights();
    for (std::size_t i = 0; i < kernel.size(); ++i) EXPECT_NEAR(weights[0].values.data<float>()[i], kernel[i], 2e-6) << i;
    for (std::size_t i = 0; i < bias.size(); ++i) EXPECT_NEAR(weights[1].values.data<float>()[i], bias[i], 2e-6) << i;
  }

 private:
  std::optional<MirroredStrategy> strategy_;
};

// Recorded from Keras 3.15.1 (TensorFlow 2.21).
TEST_P(SampleWeight, TrainOnBatchAndEvaluateHaveKerasNumbers) {
  Model model = make();
  const auto logs = model.train_on_batch(kX, kY, kWeights);
  EXPECT_NEAR(logs.at("loss"), 3.01285982, 1e-6);
  EXPECT_NEAR(logs.at("accuracy"), 0.2, 1e-9);
  EXPECT_NEAR(logs.at("weighted"), 0.07142857, 1e-7);
  model.train_on_batch(kX, kY, kWeights);
  expect_weights(model, {-0.26063022F, 0.42132014F, 0.21431008F, 0.12421632F, 0.4344246F, 0.19135907F},
                 {0.31781024F, -0.3437877F, -0.09902253F});
  for (const std::int64_t batch : {2, 5}) {
    const auto evaluated = model.evaluate(kX, kY, batch, kWeights);
    EXPECT_NEAR(evaluated.at("loss"), 1.21618104, 2e-6);
    EXPECT_NEAR(evaluated.at("accuracy"), 0.2, 1e-9);
    EXPECT_NEAR(evaluated.at("weighted"), 0.42857143, 1e-7);
  }
}

TEST_P(SampleWeight, ClassWeightHasKerasNumbers) {
  Model model = make();
  const History history =
      model.fit(kX, kY, FitOptions().class_weight({{0, 2.0F}, {2, 0.5F}}).batch_size(5).shuffle(false).verbose(Verbose::silent));
  EXPECT_NEAR(history.last("loss"), 2.09131932, 1e-6);
  EXPECT_NEAR(history.last("weighted"), 0.30769232, 1e-7);
  expect_weights(model, {0.20087993F, 0.07286936F, 0.10125069F, 0.36130524F, 0.77293456F, -0.3842398F},
                 {0.29577237F, -0.08039118F, -0.3403812F});
}

TEST_P(SampleWeight, FollowTheirSamplesThroughShuffling) {
  Model shuffled = make(), whole = make();
  // One batch of all samples: the order changes nothing but rounding.
  shuffled.fit(kX, kY, FitOptions().sample_weight(kWeights).batch_size(5).seed(3).verbose(Verbose::silent));
  whole.train_on_batch(kX, kY, kWeights);
  const std::vector<NamedArray> a = shuffled.get_weights(), b = whole.get_weights();
  for (std::int64_t i = 0; i < a[0].values.size(); ++i) EXPECT_NEAR(a[0].values.data<float>()[i], b[0].values.data<float>()[i], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Replicas, SampleWeight, ::testing::Values(1, 2, 3), ::testing::PrintToStringParamName());

TEST(SampleWeightOfOnes, ChangesNoBit) {
  const auto trained = [](const Array& weights) {
    Sequential model({Dense(4, "tanh"), Dense(3)});
    model.set_seed(2);
    model.compile("adam", SparseCategoricalCrossentropy().from_logits());
    for (int i = 0; i < 3; ++i) model.train_on_batch(kX, kY, weights);
    return model.checksums().front();
  };
  EXPECT_EQ(trained({}), trained(Array(Shape{5}, std::vector<float>(5, 1.0F))));
  EXPECT_NE(trained({}), trained(kWeights));
}

TEST(SampleWeightOfTheWrongShape, IsASentence) {
  Sequential model({Dense(3)});
  model.compile("sgd", SparseCategoricalCrossentropy().from_logits());
  for (const Array& wrong : {Array(Shape{4}), Array(Shape{5, 1}), Array(Shape{5}, DType::int32)}) {
    EXPECT_THROW(model.train_on_batch(kX, kY, wrong), Error);
    EXPECT_THROW(model.evaluate(kX, kY, 5, wrong), Error);
    EXPECT_THROW(model.fit(kX, kY, FitOptions().sample_weight(wrong).verbose(Verbose::silent)), Error);
  }
  EXPECT_THROW(model.fit(kX, kY, FitOptions().sample_weight(kWeights).class_weight({{0, 2.0F}}).verbose(Verbose::silent)), Error);
}

TEST(Mean, IsWeighted) {
  Mean mean("loss");
  EXPECT_EQ(mean.result(), 0);
  mean.update_state(2);
  mean.update_state(5, 3);
  EXPECT_DOUBLE_EQ(mean.result(), (2 + 15) / 4.0);
  mean.reset_state();
  mean.update_state(7);
  EXPECT_DOUBLE_EQ(mean.result(), 7);
}

}  // namespace
}  // namespace lockstep
