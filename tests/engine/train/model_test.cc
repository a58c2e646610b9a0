// A model as a program uses it: compile, fit, evaluate, predict, on one GPU and on several.
#include "lockstep/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/lockstep.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

// Three classes that a small network can tell apart: the class is the third of the image that is bright.
struct Toy {
  Array x, y;
};
Toy make_toy(std::int64_t samples, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> noise(0, 0.4F);
  Toy toy{Array(Shape{samples, 9, 9, 1}), Array(Shape{samples}, DType::int32)};
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto label = static_cast<std::int32_t>(random() % 3);
    toy.y.data<std::int32_t>()[i] = label;
    for (std::int64_t pixel = 0; pixel < 81; ++pixel)
      toy.x.data<float>()[i * 81 + pixel] = noise(random) + (pixel / 27 == label ? 0.5F : 0.0F);
  }
  return toy;
}

Sequential make_model(std::uint64_t seed = 7) {
  Sequential model({Conv2D(4, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(8, "relu"), Dense(3)});
  model.set_seed(seed);
  model.compile(Adam(1e-2F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
  return model;
}

TEST(Model, FitOnArraysLearnsAndKeepsHistory) {
  const Toy train = make_toy(256), test = make_toy(64, 2);
  Sequential model = make_model();
  const History history = model.fit(train.x, train.y, FitOptions().epochs(6).validation(test.x, test.y).verbose(Verbose::silent));
  EXPECT_EQ(history.epoch.size(), 6U);
  for (const char* name : {"loss", "accuracy", "val_loss", "val_accuracy"}) EXPECT_EQ(history.history.at(name).size(), 6U) << name;
  EXPECT_GT(history.last("val_accuracy"), 0.95);
  EXPECT_LT(history.last("loss"), history.history.at("loss").front());
  EXPECT_EQ(model.iterations(), 6 * 256 / 32);  // Keras' default batch is 32
}

TEST(Model, EvaluateEqualsTheMeanOverSamplesWhateverTheBatch) {
  const Toy toy = make_toy(50);
  Sequential model = make_model();
  const auto whole = model.evaluate(toy.x, toy.y, 50);
  const auto pieces = model.evaluate(toy.x, toy.y, 7);
  EXPECT_NEAR(whole.at("loss"), pieces.at("loss"), 1e-6);
  EXPECT_DOUBLE_EQ(whole.at("accuracy"), pieces.at("accuracy"));
}

TEST(Model, PredictAgreesWithEvaluate) {
  const Toy toy = make_toy(33);
  Sequential model = make_model();
  const Array logits = model.predict(toy.x, 8);
  ASSERT_EQ(logits.shape(), (Shape{33, 3}));
  double loss = 0;
  int correct = 0;
  for (int i = 0; i < 33; ++i) {
    const float* row = logits.data<float>() + i * 3;
    double sum = 0;
    int best = 0;
    for (int c = 0; c < 3; ++c) {
      sum += std::exp(static_cast<double>(row[c]));
      if (row[c] > row[best]) best = c;
    }
    const int label = toy.y.data<std::int32_t>()[i];
    loss += std::log(sum) - row[label];
    correct += best == label;
  }
  const auto logs = model.evaluate(toy.x, toy.y);
  EXPECT_NEAR(logs.at("loss"), loss / 33, 1e-5);
  EXPECT_DOUBLE_EQ(logs.at("accuracy"), correct / 33.0);
}

TEST(Model, TheSameSeedGivesTheSameBits) {
  const Toy toy = make_toy(96);
  std::vector<std::uint64_t> sums;
  for (std::uint64_t seed : {5, 5, 6}) {
    Sequential model = make_model(seed);
    model.fit(toy.x, toy.y, FitOptions().epochs(2).seed(seed).verbose(Verbose::silent));
    sums.push_back(model.checksums().front());
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_NE(sums[0], sums[2]);
}

// Functional models, and those whose first layer has an input_shape, have their variables before a seed can be set.
TEST(Model, ASeedCountsForModelsThatAreBuiltAtOnce) {
  const auto functional = [](std::uint64_t seed) {
    const Input input({9, 9, 1});
    const KerasTensor x = input;
    Model model(x, Dense(3)(Dropout(0.5F)(Flatten()(x))));
    model.set_seed(seed);
    model.compile("adam", SparseCategoricalCrossentropy().from_logits());
    return model;
  };
  Model a = functional(5), b = functional(5), c = functional(6);
  EXPECT_EQ(a.checksums(), b.checksums());
  EXPECT_NE(a.checksums(), c.checksums());
  // The seed a chain has from the start gives the same first weights.
  Sequential chain({Flatten(), Dense(3)});
  chain.set_seed(5);
  chain.build({9, 9, 1});
  const Array one = chain.get_weights()[0].values, other = a.get_weights()[0].values;
  EXPECT_EQ(std::vector<float>(one.data<float>(), one.data<float>() + one.size()),
            std::vector<float>(other.data<float>(), other.data<float>() + other.size()));

  const Toy toy = make_toy(16);
  a.train_on_batch(toy.x, toy.y);
  b.train_on_batch(toy.x, toy.y);
  EXPECT_EQ(a.checksums(), b.checksums());
  const auto trained = b.checksums();
  b.set_seed(9);
  EXPECT_EQ(b.checksums(), trained) << "trained weights stay";
  a.train_on_batch(toy.x, toy.y);
  b.train_on_batch(toy.x, toy.y);
  EXPECT_NE(a.checksums(), b.checksums()) << "what dropout draws follows the new seed";
}

TEST(Model, ARunTakenUpInTheMiddleOfAnEpochEndsWithTheSameBits) {
  const Toy toy = make_toy(96);
  const auto options = [] { return FitOptions().batch_size(32).seed(4).verbose(Verbose::silent); };
  Sequential whole = make_model(3), parts = make_model(3);
  whole.fit(toy.x, toy.y, options().epochs(3));
  Callback stop;
  stop.on_batch_end = [](TrainingEvent& event) { event.stop = event.epoch == 1 && event.batch == 0; };
  parts.fit(toy.x, toy.y, options().epochs(3).callback(stop));
  EXPECT_EQ(parts.iterations(), 4);
  parts.fit(toy.x, toy.y, options().initial_epoch(1).initial_batch(1).epochs(3));
  EXPECT_EQ(parts.iterations(), whole.iterations());
  EXPECT_EQ(parts.checksums(), whole.checksums());
}

TEST(Model, WeightsGoOutAndComeBack) {
  const Toy toy = make_toy(16);
  Sequential a = make_model(1), b = make_model(2);
  a.build({9, 9, 1});
  b.build({9, 9, 1});
  EXPECT_NE(a.checksums(), b.checksums());
  b.set_weights(a.get_weights());
  EXPECT_EQ(a.checksums(), b.checksums());
  EXPECT_EQ(a.get_weights().front().name, "conv2d/kernel");
  EXPECT_EQ(a.get_weights().back().name, "dense_1/bias");
}

TEST(Model, ADatasetMustBeBatched) {
  const Toy toy = make_toy(16);
  Sequential model = make_model();
  EXPECT_NE(error_of([&] { model.fit(Dataset::from_arrays(toy.x, toy.y)); }).find("not batched"), std::string::npos);
}

TEST(Model, WrongInputIsASentence) {
  const Toy toy = make_toy(16);
  Sequential model = make_model();
  model.build({9, 9, 1});
  EXPECT_NE(error_of([&] { model.predict(Array(Shape{4, 8, 8, 1})); }).find("(9, 9, 1)"), std::string::npos);
  EXPECT_NE(error_of([&] { model.train_on_batch(toy.x, toy.y.slice(0, 8)); }).find("16 samples"), std::string::npos);
  Array bad = toy.y.clone();
  bad.data<std::int32_t>()[3] = 17;
  EXPECT_NE(error_of([&] { model.train_on_batch(toy.x, bad); }).find("17"), std::string::npos);
  Sequential uncompiled({Flatten(), Dense(3)});
  EXPECT_NE(error_of([&] { uncompiled.fit(toy.x, toy.y); }).find("compile"), std::string::npos);
}

TEST(Model, ACallbackCanStopTraining) {
  const Toy toy = make_toy(128);
  Sequential model = make_model();
  Callback callback;
  callback.on_batch_end = [](TrainingEvent& event) { event.stop = event.batch == 1; };
  const History history = model.fit(toy.x, toy.y, FitOptions().epochs(3).callback(callback).verbose(Verbose::silent));
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(model.iterations(), 2);
}

TEST(Model, AFirstLayerWithAnInputShapeBuildsAtOnce) {
  Sequential model({Conv2D(32, 3, "relu").input_shape({28, 28, 1}), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  EXPECT_TRUE(model.built());
  EXPECT_EQ(model.count_params(), 693962);
  EXPECT_NE(model.summary().find("693,962"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
