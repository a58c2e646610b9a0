// What a scope means: a model lives where it was made. Used in another strategy's scope it is an error that says what to do; without a
// scope, or after its own, it just works. And files do not know of replicas.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include "lockstep/lockstep.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

class Scopes : public ::testing::Test {
 protected:
  Scopes() {
    std::mt19937 random(2);
    for (std::int64_t i = 0; i < x_.size(); ++i) x_.data<float>()[i] = static_cast<float>(random() % 1000) / 1000;
    for (std::int64_t i = 0; i < y_.size(); ++i) y_.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3);
  }

  // Logical GPUs of one card, which has no whole GPU to offer from then on.
  Strategy strategy(int replicas) {
    if (ids_.empty()) ids_ = split_gpu(0, std::vector<std::int64_t>(4, 64));
    return MirroredStrategy(std::vector<GpuId>(ids_.begin(), ids_.begin() + replicas));
  }
  static Model make_model() {
    Sequential model({Dense(6, "relu"), BatchNormalization(), Dense(3)});
    model.set_seed(4);
    model.compile(Adam(), SparseCategoricalCrossentropy().from_logits());
    return model;
  }
  // Everything that uses a model's variables on its replicas.
  std::vector<std::pair<std::string, std::function<void(Model&)>>> uses() const {
    return {{"compile", [](Model& model) { model.compile(SGD(), SparseCategoricalCrossentropy().from_logits()); }},
            {"fit", [this](Model& model) { model.fit(x_, y_, FitOptions().verbose(Verbose::silent)); }},
            {"evaluate", [this](Model& model) { model.evaluate(x_, y_); }},
            {"predict", [this](Model& model) { model.predict(x_); }},
            {"train_on_batch", [this](Model& model) { model.train_on_batch(x_, y_); }}};
  }
  void expect_refused_in(const Strategy& scope, Model& model) const {
    for (const auto& [name, use] : uses()) {
      const std::string error = error_of([&] { scope.scope([&] { use(model); }); });
      EXPECT_EQ(error.find(name + ": the model was made outside the scope"), 0U) << error;
      EXPECT_NE(error.find("inside the scope"), std::string::npos) << error;
    }
  }
  void expect_usable(Model& model) const {
    for (const auto& [name, use] : uses()) EXPECT_EQ(error_of([&] { use(model); }), "") << name;
  }

  std::vector<GpuId> ids_;
  Array x_{Shape{20, 5}};
  Array y_{Shape{20}, DType::int32};
};

TEST_F(Scopes, AModelMadeOutsideIsRefusedInsideAndUsableOutside) {
  Model model = make_model();
  expect_refused_in(MirroredStrategy(), model);
  expect_refused_in(OneDeviceStrategy(), model);
  expect_usable(model);
}

TEST_F(Scopes, AModelOfAnotherScopeIsRefusedAlsoInANestedOne) {
  const Strategy two = strategy(2), three = strategy(3);
  Model model = two.scope(make_model);
  expect_refused_in(three, model);
  expect_refused_in(strategy(2), model);  // another one, though on the same GPUs
  two.scope([&] { expect_refused_in(three, model); });
  three.scope([&] { two.scope([&] { expect_usable(model); }); });
}

TEST_F(Scopes, AModelIsUsableInItsScopeAgainAndAfterIt) {
  const Strategy two = strategy(2), one = OneDeviceStrategy(ids_[0]);
  for (const Strategy& mine : {two, one}) {
    Model model = mine.scope(make_model);
    mine.scope([&] { expect_usable(model); });
    const Strategy copy = mine;
    copy.scope([&] { expect_usable(model); });
    expect_usable(model);
  }
}

TEST_F(Scopes, WithoutOneTheSharedDeviceIsItsOwnScope) {
  Model model = make_model();
  model.strategy().scope([&] { expect_usable(model); });
  Strategy::current().scope([&] { expect_usable(model); });
}

TEST_F(Scopes, ReadingAndSavingNeedNone) {
  Model model = make_model();
  model.build(Shape{5});
  MirroredStrategy().scope([&] {
    EXPECT_EQ(model.get_weights().size(), 8U);
    EXPECT_EQ(model.checksums().size(), 1U);
  });
}

TEST_F(Scopes, CustomStepsKeepToThemToo) {
  const Strategy two = strategy(2), three = strategy(3);
  Model model = two.scope(make_model);
  model.build(Shape{5});
  const auto step = [&](const Strategy& runs) {
    runs.run([&] {
      GradientTape tape(model);
      tape.forward(x_);
      tape.backward(y_, 2 * x_.samples());
    });
    model.apply_gradients();
  };
  EXPECT_EQ(error_of([&] { two.scope([&] { step(two); }); }), "");
  EXPECT_NE(error_of([&] { step(three); }).find("inside the scope of the strategy that runs it"), std::string::npos);
  const Strategy as_large = MirroredStrategy(two.gpus());
  EXPECT_NE(error_of([&] { step(as_large); }).find("inside the scope of the strategy that runs it"), std::string::npos);
  EXPECT_EQ(error_of([&] { three.scope([&] { step(two); }); }).find("apply_gradients: the model was made outside the scope"), 0U);
}

TEST_F(Scopes, AReplicaCannotDriveAWholeModel) {
  const Strategy two = strategy(2), three = strategy(3);
  Model model = two.scope(make_model);
  for (const Strategy& runs : {two, three}) {
    for (const auto& [name, use] : uses()) {
      const std::string error = error_of([&, &use = use] { runs.run([&] { use(model); }); });
      EXPECT_NE(error.find(name + " was called from inside a function that Strategy::run started"), std::string::npos) << error;
    }
  }
  expect_usable(model);
}

TEST_F(Scopes, AModelSavedFromFourReplicasPredictsTheSameOnOneAndOnThree) {
  const auto folder = std::filesystem::temp_directory_path() / ("lockstep_scope_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  for (const char* ending : {".keras", ".h5"}) {
    const std::string path = (folder / ("model" + std::string(ending))).string();
    Model four = strategy(4).scope(make_model);
    four.fit(x_, y_, FitOptions().epochs(3).batch_size(10).verbose(Verbose::silent));
    four.save(path);
    const Array expected = four.predict(x_);
    for (const int replicas : {1, 3}) {
      Model loaded = strategy(replicas).scope([&] { return load_model(path); });
      EXPECT_EQ(loaded.checksums().size(), static_cast<std::size_t>(replicas));
      const Array predicted = loaded.predict(x_);
      ASSERT_EQ(predicted.shape(), expected.shape());
      for (std::int64_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(predicted.data<float>()[i], expected.data<float>()[i], 1e-6);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace lockstep
