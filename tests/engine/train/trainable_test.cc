// Frozen layers: what stays, what goes on learning, and how batch normalisation behaves when frozen.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

Array pattern(const Shape& shape, int salt) {
  Array array(shape);
  for (std::int64_t i = 0; i < array.size(); ++i) array.data<float>()[i] = static_cast<float>((i * 7 + salt * 13) % 23) / 11.5F - 1;
  return array;
}

Array labels(std::int64_t n, int classes) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<std::int32_t>(i % classes));
  return {Shape{n}, values};
}

std::map<std::string, Array> by_name(const std::vector<NamedArray>& arrays) {
  std::map<std::string, Array> all;
  for (const NamedArray& array : arrays) all.emplace(array.name, array.values);
  return all;
}

bool same(const Array& a, const Array& b) { return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

const Shape kSample{6, 6, 2};
constexpr std::int64_t kBatch = 9;  // uneven shares for two replicas

// Convolution, normalisation with its ReLU, a dense layer in the middle, and a classifier.
Sequential make_model() {
  Sequential model({Conv2D(4, 3).name("conv").input_shape(kSample), BatchNormalization().name("norm"), ReLU(6).name("relu"), Flatten(),
                    Dense(8, "relu").name("middle"), Dense(3).name("head")});
  return model;
}

void compile(Model& model) { model.compile(SGD(0.1F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"}); }

class FrozenOn : public ::testing::TestWithParam<int> {};

// Three replicas with shares of a third: a frozen variable that was averaged like a moving one would lose bits.
TEST_P(FrozenOn, FrozenLayersKeepEveryBitAndTheOthersLearn) {
  const Strategy strategy = MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(GetParam()), 64)));
  Model model = strategy.scope([] { return Model(make_model()); });
  for (const char* name : {"conv", "norm", "middle"}) model.get_layer(name).set_trainable(false);
  compile(model);
  model.check_mirrored(true);
  EXPECT_EQ(model.count_trainable_params(), 8 * 3 + 3);
  const auto before = by_name(model.get_weights());
  for (int step = 0; step < 3; ++step) model.train_on_batch(pattern(kSample.batched(kBatch), step), labels(kBatch, 3));
  const auto after = by_name(model.get_weights());
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, values] : before) EXPECT_EQ(same(values, after.at(name)), name.rfind("head/", 0) != 0) << name;
  EXPECT_EQ(by_name(model.get_gradients()).size(), 2U);
}
INSTANTIATE_TEST_SUITE_P(Replicas, FrozenOn, ::testing::Values(1, 2, 3));

// A frozen BatchNormalization runs as in inference: so frozen layers give the same features in training and in prediction, and the
// head's gradient is that of the head alone on those features.
TEST(Trainable, TheHeadLearnsAsItWouldOnFeaturesMadeBefore) {
  const Array x = pattern(kSample.batched(kBatch), 1), y = labels(kBatch, 3);
  Model whole = make_model();
  auto weights = whole.get_weights();
  for (NamedArray& weight : weights)
    if (weight.name.rfind("norm/moving", 0) == 0)
      for (std::int64_t i = 0; i < weight.values.size(); ++i) weight.values.data<float>()[i] = 0.5F + 0.25F * static_cast<float>(i);
  whole.set_weights(weights);
  whole.set_trainable(false);
  whole.get_layer("head").set_trainable(true);
  compile(whole);

  Sequential base({Conv2D(4, 3).name("conv").input_shape(kSample), BatchNormalization().name("norm"), ReLU(6).name("relu"), Flatten(),
                   Dense(8, "relu").name("middle")});
  Sequential head({Dense(3).name("head").input_shape({8})});
  for (const NamedArray& weight : weights) (weight.name.rfind("head/", 0) == 0 ? static_cast<Model&>(head) : base).set_weights({weight});
  compile(head);
  const Array features = base.predict(x);
  const auto loss_whole = whole.train_on_batch(x, y), loss_head = head.train_on_batch(features, y);
  EXPECT_EQ(loss_whole.at("loss"), loss_head.at("loss"));
  const auto a = by_name(whole.get_gradients()), b = by_name(head.get_gradients());
  ASSERT_EQ(a.size(), 2U);
  for (const auto& [name, values] : a) EXPECT_TRUE(same(values, b.at(name))) << name;
}

// Gradients pass through frozen layers to trained ones before them: checked by finite differences.
TEST(Trainable, GradientsPassThroughFrozenLayers) {
  const Array x = pattern(kSample.batched(kBatch), 2), y = labels(kBatch, 3);
  Model model = make_model();
  model.set_trainable(false);
  model.get_layer("conv").set_trainable(true);
  model.compile(SGD(1e-12F), SparseCategoricalCrossentropy().from_logits(), {});
  model.train_on_batch(x, y);
  const auto gradients = by_name(model.get_gradients());
  ASSERT_EQ(gradients.size(), 2U);
  auto weights = by_name(model.get_weights());
  const Array kernel = weights.at("conv/kernel");
  constexpr float kStep = 1e-3F;  // small, so that few ReLUs have their kink within it
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < kernel.size(); i += 7) {
    double loss[2];
    for (const int side : {0, 1}) {
      Array moved = kernel.clone();
      moved.data<float>()[i] += side == 0 ? -kStep : kStep;
      model.set_weights({{"conv/kernel", moved}});
      loss[side] = model.evaluate(x, y).at("loss");  // inference: what a frozen normalisation does in training too
    }
    const double expected = (loss[1] - loss[0]) / (2 * kStep);
    worst = std::max(worst, std::abs(expected - static_cast<double>(gradients.at("conv/kernel").data<float>()[i])));
    largest = std::max(largest, std::abs(expected));
  }
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(worst, 0.03 * largest);
}

TEST(Trainable, CountsFromTheNextCompileOnAndCanBeTakenBack) {
  const Array x = pattern(kSample.batched(kBatch), 3), y = labels(kBatch, 3);
  Model model = make_model();
  compile(model);
  const auto start = by_name(model.get_weights());
  model.get_layer("conv").set_trainable(false);
  model.train_on_batch(x, y);
  auto now = by_name(model.get_weights());
  EXPECT_FALSE(same(start.at("conv/kernel"), now.at("conv/kernel"))) << "not compiled again yet";
  compile(model);
  EXPECT_TRUE(same(by_name(model.get_weights()).at("head/kernel"), now.at("head/kernel"))) << "weights stay";
  model.train_on_batch(x, y);
  EXPECT_TRUE(same(by_name(model.get_weights()).at("conv/kernel"), now.at("conv/kernel")));
  model.get_layer("conv").set_trainable(true);
  compile(model);
  model.train_on_batch(x, y);
  EXPECT_FALSE(same(by_name(model.get_weights()).at("conv/kernel"), now.at("conv/kernel")));
}

TEST(Trainable, FrozenLayersAreStillFrozenWhenAFileIsLoaded) {
  const Array x = pattern(kSample.batched(kBatch), 4), y = labels(kBatch, 3);
  Model model = make_model();
  for (const char* name : {"conv", "norm"}) model.get_layer(name).set_trainable(false);
  model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {});
  model.train_on_batch(x, y);
  for (const char* end : {".keras", ".h5"}) {
    const std::string path = (std::filesystem::temp_directory_path() / ("lockstep-frozen-" + std::to_string(::getpid()) + end)).string();
    model.save(path);
    Model loaded = load_model(path);
    std::filesystem::remove(path);
    EXPECT_FALSE(loaded.get_layer("conv").trainable());
    EXPECT_TRUE(loaded.get_layer("head").trainable());
    EXPECT_EQ(loaded.count_trainable_params(), model.count_trainable_params());
    const auto before = by_name(loaded.get_weights());
    for (const auto& [name, values] : by_name(model.get_weights())) EXPECT_TRUE(same(values, before.at(name))) << name;
    loaded.train_on_batch(x, y);
    EXPECT_TRUE(same(by_name(loaded.get_weights()).at("conv/kernel"), before.at("conv/kernel")));
  }
}

TEST(Trainable, AModelWithNothingToTrainSaysSo) {
  Model model = make_model();
  model.set_trainable(false);
  compile(model);
  EXPECT_THROW(model.train_on_batch(pattern(kSample.batched(4), 0), labels(4, 3)), Error);
  EXPECT_NO_THROW(model.evaluate(pattern(kSample.batched(4), 0), labels(4, 3)));
  EXPECT_THROW(model.get_layer("no such layer"), Error);
}

TEST(Trainable, ANetworkCanBeginBehindAnotherLayer) {
  const KerasTensor flipped = RandomFlip("horizontal")(Input({32, 32, 3}));
  Model model = applications::MobileNetV2(applications::MobileNetV2Options().alpha(0.35).input_tensor(flipped).classes(2));
  EXPECT_EQ(model.layers().front().name(), "random_flip");
  EXPECT_EQ(model.count_params(), 412770);
}

}  // namespace
}  // namespace lockstep
