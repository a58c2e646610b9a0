// Callbacks with Keras' names, and training with every loss; on one small regression whose values are easy to work out.
#include "lockstep/callbacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

struct Line {
  Array x{Shape{32, 1}}, y{Shape{32, 1}};
};
// y = 3 x + 1
Line make_line() {
  Line line;
  for (int i = 0; i < 32; ++i) {
    line.x.data<float>()[i] = static_cast<float>(i) / 16.0F - 1.0F;
    line.y.data<float>()[i] = 3.0F * line.x.data<float>()[i] + 1.0F;
  }
  return line;
}

Sequential make_model(const Optimizer& optimizer, const Loss& loss = "mse") {
  Sequential model({Dense(1)});
  model.set_seed(3);
  model.compile(optimizer, loss);
  return model;
}

FitOptions options(int epochs) { return FitOptions().epochs(epochs).batch_size(32).shuffle(false).verbose(Verbose::silent); }

TEST(MeanSquaredError, ALineIsFound) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.3F));
  const History history = model.fit(line.x, line.y, options(200));
  EXPECT_LT(history.last("loss"), 1e-4);
  EXPECT_NEAR(model.get_weights()[0].values.data<float>()[0], 3, 0.05);
  EXPECT_NEAR(model.get_weights()[1].values.data<float>()[0], 1, 0.05);
  const double loss = model.evaluate(line.x, line.y).at("loss");
  const Array predicted = model.predict(line.x);
  double expected = 0;
  for (int i = 0; i < 32; ++i) expected += std::pow(predicted.data<float>()[i] - line.y.data<float>()[i], 2) / 32;
  EXPECT_NEAR(loss, expected, 1e-7);
}

// A rate that makes the loss grow: the first epoch stays the best.
TEST(EarlyStopping, StopsAfterItsPatienceAndRestoresTheBest) {
  const Line line = make_line();
  Sequential model = make_model(SGD(4.0F));
  std::vector<NamedArray> first;
  Callback keep;
  keep.on_epoch_end = [&](TrainingEvent& event) {
    if (event.epoch == 0) first = event.model->get_weights();
  };
  EarlyStopping stopping("loss");
  stopping.patience(3).restore_best_weights();
  const History history = model.fit(line.x, line.y, options(50).callback(keep).callback(stopping));
  ASSERT_GT(history.history.at("loss")[1], history.history.at("loss")[0]) << "the rate must be too large for this test";
  EXPECT_EQ(history.epoch.size(), 4U);
  EXPECT_TRUE(history.stopped);
  EXPECT_EQ(stopping.stopped_epoch(), 3);
  EXPECT_EQ(stopping.best_epoch(), 0);
  EXPECT_EQ(stopping.best(), history.history.at("loss")[0]);
  EXPECT_EQ(model.get_weights()[0].values.data<float>()[0], first[0].values.data<float>()[0]);
}

TEST(EarlyStopping, LetsAnImprovingModelGoOn) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.1F));
  EarlyStopping stopping("loss");
  EXPECT_EQ(model.fit(line.x, line.y, options(10).callback(stopping)).epoch.size(), 10U);
  EXPECT_EQ(stopping.stopped_epoch(), 0);
  stopping.min_delta(1e9).patience(2);
  EXPECT_EQ(model.fit(line.x, line.y, options(10).callback(stopping)).epoch.size(), 3U);  // only the first counts as better
  EXPECT_THROW(stopping.mode("upwards"), Error);
}

TEST(ReduceLROnPlateau, LowersTheRateDownToItsFloor) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.1F));
  ReduceLROnPlateau reduce("loss", 0.5F, 2);
  reduce.min_delta(1e9).min_lr(0.03F);
  std::vector<float> rates;
  Callback look;
  look.on_epoch_end = [&](TrainingEvent& event) { rates.push_back(event.model->optimizer().learning_rate()); };
  model.fit(line.x, line.y, options(8).callback(reduce).callback(look));
  EXPECT_EQ(rates, (std::vector<float>{0.1F, 0.1F, 0.05F, 0.05F, 0.03F, 0.03F, 0.03F, 0.03F}));
}

TEST(CSVLogger, WritesALineAnEpoch) {
  const Line line = make_line();
  const auto path = std::filesystem::temp_directory_path() / ("lockstep_csv_" + std::to_string(std::random_device()()) + ".csv");
  Sequential model = make_model(SGD(0.1F));
  const History history = model.fit(line.x, line.y, options(2).validation(line.x, line.y).callback(CSVLogger(path.string())));
  model.fit(line.x, line.y, options(1).validation(line.x, line.y).callback(CSVLogger(path.string(), ",", true)));
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string text; std::getline(file, text);) lines.push_back(text);
  std::filesystem::remove(path);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "epoch,loss,val_loss");
  EXPECT_EQ(lines[1].substr(0, 2), "0,");
  EXPECT_NEAR(std::stod(lines[2].substr(2)), history.history.at("loss")[1], 1e-12);
  EXPECT_EQ(lines[3].substr(0, 2), "0,");
}

class Checkpoints : public ::testing::Test {
 protected:
  Checkpoints() : folder_(std::filesystem::temp_directory_path() / ("lockstep_checkpoints_" + std::to_string(std::random_device()()))) {}
  ~Checkpoints() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::filesystem::path folder_;
};

TEST_F(Checkpoints, FillInEpochAndValuesAndCanBeLoaded) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.1F));
  ModelCheckpoint checkpoint(path("deep/{epoch:02d}-{val_loss:.2f}.keras"));
  const History history = model.fit(line.x, line.y, options(2).validation(line.x, line.y).callback(checkpoint));
  char name[32];
  std::snprintf(name, sizeof name, "deep/02-%.2f.keras", history.last("val_loss"));
  EXPECT_EQ(checkpoint.last_saved(), path(name));
  EXPECT_EQ(load_model(path(name)).checksums(), model.checksums());
}

// A rate that makes the loss grow: only the first epoch is saved.
TEST_F(Checkpoints, BestOnlyKeepsTheBest) {
  const Line line = make_line();
  Sequential model = make_model(SGD(4.0F));
  ModelCheckpoint best(path("{epoch}.weights.h5"), "loss");
  best.save_best_only().save_weights_only();
  const History history = model.fit(line.x, line.y, options(4).callback(best));
  EXPECT_EQ(files(), std::vector<std::string>{"1.weights.h5"});
  EXPECT_EQ(best.best(), history.history.at("loss")[0]);
  ModelCheckpoint highest(path("high-{epoch}.weights.h5"), "loss");
  highest.save_best_only().save_weights_only().mode("max").initial_value_threshold(-1);
  model.fit(line.x, line.y, options(2).callback(highest));
  EXPECT_EQ(files().size(), 3U) << "a loss that grows is better each time where higher is better";
}

TEST_F(Checkpoints, SavesEverySoManyBatches) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.01F));
  ModelCheckpoint often(path("{epoch}-{batch}.h5"));
  often.save_freq(3);
  model.fit(line.x, line.y, options(2).batch_size(8).callback(often));  // four batches an epoch
  EXPECT_EQ(files(), (std::vector<std::string>{"1-3.h5", "2-2.h5"}));
}

TEST_F(Checkpoints, WrongPathsAreSentences) {
  const Line line = make_line();
  Sequential model = make_model(SGD(0.01F));
  const auto fit = [&](const ModelCheckpoint& checkpoint) { model.fit(line.x, line.y, options(1).callback(checkpoint)); };
  EXPECT_THROW(fit(ModelCheckpoint(path("x.txt"))), Error);
  EXPECT_THROW(fit(ModelCheckpoint(path("x.keras")).save_weights_only()), Error);
  EXPECT_THROW(fit(ModelCheckpoint(path("{val_acc}.keras"))), Error);
  EXPECT_THROW(fit(ModelCheckpoint(path("{epoch:q}.keras"))), Error);
  EXPECT_THROW(fit(ModelCheckpoint(path("{epoch.keras"))), Error);
  EXPECT_THROW(ModelCheckpoint("x.keras").save_freq(0), Error);
  EXPECT_THROW(ModelCheckpoint("x.keras").save_freq("batch"), Error);
}

// One step from known weights with a gradient of norm 5, (3, 4).
TEST(Clipping, BoundsTheStep) {
  const auto step = [](const Optimizer& optimizer) {
    Sequential model({Dense(1).use_bias(false)});
    model.compile(optimizer, "mse");
    model.build(Shape{2});
    model.set_weights({{"dense/kernel", Array(Shape{2, 1}, std::vector<float>{0, 0})}});
    model.train_on_batch(Array(Shape{1, 2}, std::vector<float>{3, 4}), Array(Shape{1, 1}, std::vector<float>{-0.5F}));  // 2 (0 + 0.5) x
    const Array weights = model.get_weights()[0].values;
    return std::vector<float>(weights.data<float>(), weights.data<float>() + 2);
  };
  const auto near = [](const std::vector<float>& got, float a, float b) {
    return std::fabs(got[0] - a) < 1e-6F && std::fabs(got[1] - b) < 1e-6F;
  };
  EXPECT_TRUE(near(step(SGD(1.0F)), -3, -4));
  EXPECT_TRUE(near(step(SGD(1.0F).clipvalue(3.5F)), -3, -3.5F));
  EXPECT_TRUE(near(step(SGD(1.0F).clipnorm(1)), -0.6F, -0.8F));
  EXPECT_TRUE(near(step(SGD(1.0F).global_clipnorm(2.5F)), -1.5F, -2));
  EXPECT_TRUE(near(step(SGD(1.0F).global_clipnorm(6)), -3, -4));
  EXPECT_THROW(SGD().clipnorm(1).clipvalue(1), Error);
  EXPECT_THROW(SGD().clipnorm(0), Error);
}

TEST(Losses, DenseLabelsTrainAndAccuracyFitsThem) {
  const Line line = make_line();
  Array classes(Shape{32, 2}), signs(Shape{32, 1});
  for (int i = 0; i < 32; ++i) {
    const bool right = line.x.data<float>()[i] > 0.2F;
    signs.data<float>()[i] = right ? 1.0F : 0.0F;
    classes.data<float>()[2 * i + (right ? 1 : 0)] = 1.0F;
  }
  Sequential categorical({Dense(2, "softmax")});
  categorical.set_seed(1);
  categorical.compile(Adam(0.2F), "categorical_crossentropy", {"accuracy"});
  EXPECT_GT(categorical.fit(line.x, classes, options(100)).last("accuracy"), 0.95);
  Sequential binary({Dense(1)});
  binary.set_seed(1);
  binary.compile(Adam(0.2F), BinaryCrossentropy().from_logits(), {BinaryAccuracy(0.0F, "accuracy")});
  EXPECT_GT(binary.fit(line.x, signs, options(100)).last("accuracy"), 0.95);
  EXPECT_THROW(binary.fit(line.x, classes, options(1)), Error);
}

}  // namespace
}  // namespace lockstep
