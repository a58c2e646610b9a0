// What goes wrong in training is a sentence that says where: numbers that are not finite, memory that is not enough.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <regex>

#include "lockstep/lockstep.h"
#include "simulator/logical/gpu_registry.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

void expect_says(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "in: " << text << "\nthere should be: " << part;
}

class WrongNumbers : public ::testing::Test {
 protected:
  void SetUp() override { forget_splits(); }
  void TearDown() override { forget_splits(); }

  static Model make(int replicas) {
    const auto made = [] {
      Sequential model({Dense(4, "relu").name("first"), BatchNormalization().name("norm"), Dense(3).name("second")});
      model.set_seed(1);
      model.compile(SGD(0.1F), SparseCategoricalCrossentropy().from_logits());
      model.build(Shape{2});
      return model;
    };
    if (replicas == 1) return OneDeviceStrategy().scope(made);
    return MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas), 64))).scope(made);
  }
  static Array samples(int n) {
    Array x(Shape{n, 2});
    for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = std::sin(static_cast<float>(i));
    return x;
  }
  static Array labels(int n) { return Array(Shape{n}, DType::int32); }
};

TEST_F(WrongNumbers, ALayerThatOverflowsIsNamedWithStepAndReplicaAndTheWeightsStay) {
  Model model = make(2);
  model.train_on_batch(samples(5), labels(5));
  std::vector<NamedArray> weights = model.get_weights();
  for (NamedArray& weight : weights)
    if (weight.name == "second/kernel")
      for (std::int64_t i = 0; i < weight.values.size(); ++i) weight.values.data<float>()[i] = i % 2 == 0 ? 3e38F : -3e38F;
  model.set_weights(weights);
  const std::string text = error_of([&] { model.train_on_batch(samples(5), labels(5)); });
  expect_says(text, "at step 2 (replica ");
  expect_says(text, "the first layer whose output is not finite is Dense \"second\"");
  expect_says(text, "of the batch");
  const std::vector<NamedArray> after = model.get_weights();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].name.find("moving") != std::string::npos) continue;
    const Array &now = after[i].values, &then = weights[i].values;
    EXPECT_EQ(std::vector<float>(now.data<float>(), now.data<float>() + now.size()),
              std::vector<float>(then.data<float>(), then.data<float>() + then.size()))
        << after[i].name;
  }
  EXPECT_EQ(model.iterations(), 1);
  // And the model goes on.
  for (NamedArray& weight : weights)
    if (weight.name == "second/kernel")
      for (std::int64_t i = 0; i < weight.values.size(); ++i) weight.values.data<float>()[i] = 0.5F;
  model.set_weights(weights);
  EXPECT_EQ(error_of([&] { model.train_on_batch(samples(5), labels(5)); }), "");
}

TEST_F(WrongNumbers, ASampleOrAVariableThatIsNotFiniteIsNamed) {
  Model model = make(2);
  Array x = samples(7);
  x.data<float>()[2 * 5 + 1] = std::numeric_limits<float>::quiet_NaN();
  expect_says(error_of([&] { model.train_on_batch(x, labels(7)); }), "x holds NaN in sample 5 of the batch");

  std::vector<NamedArray> weights = model.get_weights();
  for (NamedArray& weight : weights)
    if (weight.name == "first/bias") weight.values.data<float>()[1] = std::numeric_limits<float>::infinity();
  model.set_weights(weights);
  expect_says(error_of([&] { model.fit(samples(8), labels(8), FitOptions().verbose(Verbose::silent)); }),
              "the variable first/bias holds infinity since an earlier step");
}

TEST_F(WrongNumbers, DivergingTrainingEndsInASentence) {
  Sequential model({Dense(1).name("line")});
  model.compile(SGD(1e6F), "mse");
  const Array x(Shape{4, 1}, std::vector<float>{1, 2, 3, 4}), y(Shape{4, 1}, std::vector<float>{2, 4, 6, 8});
  const std::string text = error_of([&] { model.fit(x, y, FitOptions().epochs(100).verbose(Verbose::silent)); });
  EXPECT_TRUE(std::regex_search(text, std::regex("^The loss is (infinity|NaN) at step [0-9]+ "))) << text;
  expect_says(text, "smaller learning rate");
}

TEST_F(WrongNumbers, LabelsAndShapesNameWhatIsWrong) {
  Model model = make(1);
  Array wrong = labels(3);
  wrong.data<std::int32_t>()[2] = 3;
  expect_says(error_of([&] { model.train_on_batch(samples(3), wrong); }), "Label 3 of sample 2 is outside 0 ... 2");
  expect_says(error_of([&] { model.train_on_batch(Array(Shape{3, 4}), labels(3)); }), "(2,)");
  expect_says(error_of([&] { model.train_on_batch(samples(3), labels(2)); }), "x holds 3 samples, but y holds 2");
  expect_says(error_of([&] { model.train_on_batch(samples(3), Array()); }), "x holds 3 samples, but y holds 0");
  const FitOptions by_class = FitOptions().class_weight({{0, 2.0F}}).verbose(Verbose::silent);
  expect_says(error_of([&] { model.fit(Dataset::from_arrays(samples(3), Array()).batch(3), by_class); }), "but y holds 0");
  EXPECT_EQ(error_of([&] { model.train_on_batch(samples(3), labels(3)); }), "");
  EXPECT_EQ(model.iterations(), 1) << "a batch that is refused is no step";
  expect_says(error_of([] {
                Sequential({Flatten().input_shape({4, 4, 1}), Conv2D(3, 3).name("c")});
              }),
              "Conv2D \"c\": got samples of shape (16,)");
}

TEST_F(WrongNumbers, OutOfMemoryNamesAskerHoldersAndTheBatchThatFits) {
  const auto make_wide = [](const Strategy& strategy) {
    return strategy.scope([] {
      Sequential model({Dense(64, "relu"), Dense(512, "relu"), Dense(2)});
      model.compile("sgd", SparseCategoricalCrossentropy().from_logits());
      return model;
    });
  };
  const auto batch = [](std::int64_t n) { return std::make_pair(Array(Shape{n, 1024}), Array(Shape{n}, DType::int32)); };
  const Strategy strategy = OneDeviceStrategy(split_gpu(0, {16, 16}).front());
  Model model = make_wide(strategy);
  const auto large = batch(8000);
  const std::string text = error_of([&] { model.train_on_batch(large.first, large.second); });
  expect_says(text, "replica 0: activations asked for");
  expect_says(text, "largest first:");
  expect_says(text, "replica 0: gradients");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("room for a batch of ([0-9]+), not of 8000"))) << text;
  const std::int64_t fits = std::stoll(found[1]);
  EXPECT_GT(fits, 500);
  const auto largest = batch(fits), more = batch(fits + 32);
  EXPECT_EQ(error_of([&] { model.train_on_batch(largest.first, largest.second); }), "");
  EXPECT_NE(error_of([&] { model.train_on_batch(more.first, more.second); }), "");
}

}  // namespace
}  // namespace lockstep
