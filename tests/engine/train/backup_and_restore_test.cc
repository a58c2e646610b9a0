// Training that is interrupted, between epochs or inside one, and started again: it ends as if nothing had happened.
#include "lockstep/backup_and_restore.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "lockstep/lockstep.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kSamples = 88, kBatch = 16, kBatches = 6, kEpochs = 4;  // the last batch of an epoch is a short one

// Small pictures of three kinds: a bright row, a bright column, or plain; with noise.
struct Pictures {
  Array x{Shape{kSamples, 6, 6, 1}};
  Array y{Shape{kSamples}, DType::int32};
};
Pictures make_pictures() {
  Pictures made;
  std::mt19937 random(5);
  for (int i = 0; i < kSamples; ++i) {
    const int kind = i % 3, line = static_cast<int>(random() % 6);
    made.y.data<std::int32_t>()[i] = kind;
    for (int pixel = 0; pixel < 36; ++pixel) {
      const bool bright = (kind == 0 && pixel / 6 == line) || (kind == 1 && pixel % 6 == line);
      made.x.data<float>()[36 * i + pixel] = (bright ? 1.0F : 0.0F) + static_cast<float>(random() % 1000) / 2000;
    }
  }
  return made;
}

struct PowerCut : std::exception {};

// After so many batches of that epoch; before anything that a callback behind this one does.
Callback cut_after(int epoch, std::int64_t batches) {
  Callback cut;
  cut.on_batch_end = [=](TrainingEvent& event) {
    if (event.epoch == epoch && event.batch + 1 == batches) throw PowerCut();
  };
  return cut;
}
Callback stop_after(int epoch, std::int64_t batches) {
  Callback stop;
  stop.on_batch_end = [=](TrainingEvent& event) { event.stop = event.epoch == epoch && event.batch + 1 == batches; };
  return stop;
}

// Backups are brought to the disk before they count; a test need not wait for a real one.
fs::path quick_folder() { return fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path(); }

class Backups : public ::testing::Test {
 protected:
  Backups() : folder_(quick_folder() / ("lockstep_backup_" + std::to_string(std::random_device()()))) {
    ids_ = split_gpu(0, std::vector<std::int64_t>(4, 64));
  }
  ~Backups() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  Strategy strategy(int replicas) const { return MirroredStrategy(std::vector<GpuId>(ids_.begin(), ids_.begin() + replicas)); }

  // As a program that is started: a new model, new callbacks.
  Model model(int replicas, const Optimizer& optimizer) const {
    return strategy(replicas).scope([&]() -> Model {
      Sequential made({Conv2D(4, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(8, "relu"), Dropout(0.3F), Dense(3)});
      made.set_seed(11);
      made.compile(optimizer, SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
      return made;
    });
  }

  Dataset data() const { return Dataset::from_arrays(pictures_.x, pictures_.y).shuffle(kSamples, 3).batch(kBatch); }
  static FitOptions options() { return FitOptions().epochs(kEpochs).verbose(Verbose::silent); }
  BackupAndRestore backup() const { return BackupAndRestore(folder_.string()); }
  bool left() const { return BackupAndRestore::has_backup(folder_.string()); }
  void write_pointer(const std::string& text) const {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "training.json") << text;
  }

  Pictures pictures_ = make_pictures();
  std::vector<GpuId> ids_;
  fs::path folder_;
};

struct Way {
  const char* name;
  Optimizer (*optimizer)();
  int replicas;
};
class InterruptedTraining : public Backups, public ::testing::WithParamInterface<Way> {
 protected:
  std::vector<std::uint64_t> uninterrupted() {
    Model whole = model(GetParam().replicas, GetParam().optimizer());
    history_ = whole.fit(data(), options());
    return whole.checksums();
  }
  // Started again until it gets to its end; what `first` sees is cut.
  std::vector<std::uint64_t> after(const Callback& cut, const BackupAndRestore& first, BackupAndRestore again) {
    {
      Model model = this->model(GetParam().replicas, GetParam().optimizer());
      try {
        model.fit(data(), options().callback(first).callback(cut));
      } catch (const PowerCut&) {
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
    EXPECT_TRUE(left());
    Model model = this->model(GetParam().replicas, GetParam().optimizer());
    Callback look;
    look.on_batch_end = [&](TrainingEvent& event) {
      if (first_batch_ < 0) first_batch_ = event.batch;
    };
    resumed_ = model.fit(data(), options().callback(again).callback(look));
    EXPECT_TRUE(again.restored());
    EXPECT_FALSE(left());
    EXPECT_FALSE(fs::exists(folder_)) << "nothing of it is left";
    EXPECT_EQ(model.iterations(), kEpochs * kBatches);
    return model.checksums();
  }
  History history_, resumed_;
  std::int64_t first_batch_ = -1;  // of the resumed one
};

TEST_P(InterruptedTraining, GoesOnAfterTheLastWholeEpoch) {
  const auto expected = uninterrupted();
  EXPECT_EQ(after(cut_after(2, 3), backup(), backup()), expected);
  EXPECT_EQ(resumed_.epoch, (std::vector<int>{2, 3}));
  EXPECT_EQ(resumed_.history.at("loss").back(), history_.last("loss"));
}

TEST_P(InterruptedTraining, GoesOnInTheMiddleOfAnEpoch) {
  const auto expected = uninterrupted();
  // 6 + 5 batches were done, the backups after 4 and 8: it goes on with the third batch of epoch 1.
  EXPECT_EQ(after(cut_after(1, 5), backup().save_freq(4), backup()), expected);
  EXPECT_EQ(resumed_.epoch, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(first_batch_, 2);
}

TEST_P(InterruptedTraining, GoesOnWhereItWasStopped) {
  const auto expected = uninterrupted();
  EXPECT_EQ(after(stop_after(1, 5), backup(), backup()), expected);
  EXPECT_EQ(resumed_.epoch, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(first_batch_, 5);
}

TEST_P(InterruptedTraining, GoesOnWhenItWasStoppedWithTheLastBatchOfAnEpoch) {
  const auto expected = uninterrupted();
  EXPECT_EQ(after(stop_after(1, kBatches), backup(), backup()), expected);
  EXPECT_EQ(resumed_.epoch, (std::vector<int>{2, 3}));
}

TEST_P(InterruptedTraining, GoesOnWhenItEndedBetweenTheLastBatchAndTheEndOfAnEpoch) {
  const auto expected = uninterrupted();
  EXPECT_EQ(after(cut_after(1, kBatches), backup().save_freq(3), backup()), expected);
  EXPECT_EQ(resumed_.epoch, (std::vector<int>{2, 3}));
}

INSTANTIATE_TEST_SUITE_P(Ways, InterruptedTraining,
                         ::testing::Values(Way{"adam_x1", [] { return Optimizer(Adam(2e-3F)); }, 1},
                                           Way{"adam_x3", [] { return Optimizer(Adam(2e-3F)); }, 3},
                                           Way{"nadam_x2", [] { return Optimizer(Nadam(2e-3F)); }, 2},
                                           Way{"momentum_x2", [] { return Optimizer(SGD(0.05F, 0.9F)); }, 2}),
                         [](const auto& instance) { return instance.param.name; });

TEST_F(Backups, GoOnOnAnotherNumberOfReplicas) {
  Model whole = model(4, Adam(2e-3F));
  const History expected = whole.fit(data(), options());
  for (const int replicas : {1, 3}) {
    {
      Model first = model(4, Adam(2e-3F));
      EXPECT_THROW(first.fit(data(), options().callback(backup()).callback(cut_after(2, 2))), PowerCut);
    }
    Model second = model(replicas, Adam(2e-3F));
    const History history = second.fit(data(), options().callback(backup()));
    ASSERT_EQ(history.epoch, (std::vector<int>{2, 3}));
    for (int k = 0; k < 2; ++k) EXPECT_NEAR(history.history.at("loss")[k], expected.history.at("loss")[k + 2], 1e-4) << replicas;
    EXPECT_EQ(second.iterations(), whole.iterations());
  }
}

TEST_F(Backups, ADamagedOneIsASentence) {
  for (const char* text :
       {"", "{", "[]", "{\"weights\": 3}", "{\"weights\": \"backup-1-0.weights.h5\", \"epoch\": -1, \"batch\": 0, \"batch_size\": 16}",
        "{\"weights\": \"../backup-1-0.weights.h5\", \"epoch\": 1, \"batch\": 0, \"batch_size\": 16}",
        "{\"weights\": \"/etc/passwd\", \"epoch\": 1, \"batch\": 0, \"batch_size\": 16}"}) {
    write_pointer(text);
    Model model = this->model(1, Adam(2e-3F));
    const std::string error = error_of([&] { model.fit(data(), options().callback(backup())); });
    EXPECT_NE(error.find("training.json can't be read"), std::string::npos) << text << ": " << error;
    EXPECT_NE(error.find("remove the folder"), std::string::npos) << error;
  }
  write_pointer("{\"weights\": \"backup-1-0.weights.h5\", \"epoch\": 1, \"batch\": 0, \"batch_size\": 16}");
  Model model = this->model(1, Adam(2e-3F));
  EXPECT_NE(error_of([&] { model.fit(data(), options().callback(backup())); }).find("backup-1-0.weights.h5"), std::string::npos);
}

TEST_F(Backups, AFolderThatIsNoneIsASentenceBeforeTraining) {
  std::ofstream(folder_) << "a file";
  Model model = this->model(1, Adam(2e-3F));
  const std::string error = error_of([&] { model.fit(data(), options().callback(backup())); });
  EXPECT_NE(error.find("can't be used"), std::string::npos) << error;
  EXPECT_EQ(model.iterations(), 0);
}

TEST_F(Backups, OfAnotherOptimizerOrOfOtherBatchesAreRefused) {
  {
    Model first = model(2, Adam(2e-3F));
    first.fit(data(), options().callback(backup()).callback(stop_after(1, 2)));
  }
  Model other = model(2, SGD(0.1F));
  EXPECT_NE(error_of([&] { other.fit(data(), options().callback(backup())); }).find("compile the model with the optimizer"),
            std::string::npos);
  Model same = model(2, Adam(2e-3F));
  const Dataset larger = Dataset::from_arrays(pictures_.x, pictures_.y).shuffle(kSamples, 3).batch(2 * kBatch);
  const std::string error = error_of([&] { same.fit(larger, options().callback(backup())); });
  EXPECT_NE(error.find("2 global batches of 16 samples"), std::string::npos) << error;
}

TEST_F(Backups, OfOtherSamplesSeedsOrDataAreRefusedAndStay) {
  const auto named = [](const char* name) { return options().data_name(name).seed(3); };
  {
    Model first = model(2, Adam(2e-3F));
    first.fit(data(), named("a").callback(backup()).callback(stop_after(1, 2)));
  }
  const Dataset fewer = Dataset::from_arrays(pictures_.x.slice(0, 64), pictures_.y.slice(0, 64)).shuffle(64, 3).batch(kBatch);
  const struct {
    const char* says;
    std::function<void(Model&)> fit;
  } cases[] = {{"96 samples in an epoch (now 64)", [&](Model& m) { m.fit(fewer, named("a").callback(backup())); }},
               {"seed 3 (now 4)", [&](Model& m) { m.fit(data(), named("a").seed(4).callback(backup())); }},
               {"other data, a (now b)", [&](Model& m) { m.fit(data(), named("b").callback(backup())); }}};
  for (const auto& one : cases) {
    Model other = model(2, Adam(2e-3F));
    const std::string error = error_of([&] { one.fit(other); });
    EXPECT_NE(error.find(one.says), std::string::npos) << error;
    EXPECT_EQ(other.iterations(), 0) << one.says;
    EXPECT_TRUE(left()) << one.says;
  }
}

TEST_F(Backups, ThatAreKeptForTheSaveAreRemovedOnRequest) {
  Model model = this->model(1, Adam(2e-3F));
  BackupAndRestore kept = backup().delete_checkpoint(false);
  model.fit(data(), options().callback(kept).callback(stop_after(1, 2)));
  kept.remove();
  EXPECT_TRUE(left()) << "it was stopped: the backup is needed";
  model.fit(data(), options().callback(kept));
  EXPECT_TRUE(left());
  kept.remove();
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Backups, NameWhatIsTrainedOn) {
  Model model = this->model(1, Adam(2e-3F));
  model.fit(pictures_.x, pictures_.y, options().batch_size(kBatch).seed(9).epochs(2));
  const auto place = model.place();
  ASSERT_TRUE(place);
  EXPECT_EQ(place->epoch, 2);
  EXPECT_EQ(place->batch, 0);
  EXPECT_EQ(place->samples, kSamples);
  EXPECT_EQ(place->batch_size, kBatch);
  EXPECT_EQ(place->seed, 9U);
  EXPECT_EQ(place->data, data_name(pictures_.x, pictures_.y));
  Array other = pictures_.x.clone();
  other.data<float>()[40] += 1;
  EXPECT_NE(place->data, data_name(other, pictures_.y));
  model.train_on_batch(pictures_.x, pictures_.y);
  EXPECT_FALSE(model.place()) << "a step that no fit made";
}

TEST_F(Backups, AreRemovedAtTheEndUnlessTheyAreToStay) {
  Model first = model(1, Adam(2e-3F));
  first.fit(data(), options().callback(backup()));
  EXPECT_FALSE(fs::exists(folder_));
  fs::create_directories(folder_);
  std::ofstream(folder_ / "notes.txt") << "not ours";
  first.fit(data(), options().callback(backup()));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
  EXPECT_FALSE(left());

  Model kept = model(1, Adam(2e-3F));
  kept.fit(data(), options().callback(backup().delete_checkpoint(false)));
  EXPECT_TRUE(left());
  Model again = model(1, Adam(2e-3F));
  BackupAndRestore done = backup().delete_checkpoint(false);
  EXPECT_TRUE(again.fit(data(), options().callback(done)).epoch.empty()) << "it had ended";
  EXPECT_TRUE(done.restored());
  EXPECT_EQ(again.checksums(), kept.checksums());
  Model longer = model(1, Adam(2e-3F)), whole = model(1, Adam(2e-3F));
  longer.fit(data(), options().epochs(kEpochs + 1).callback(backup()));
  whole.fit(data(), options().epochs(kEpochs + 1));
  EXPECT_EQ(longer.checksums(), whole.checksums()) << "and more epochs go on from it";
}

TEST_F(Backups, EndWithEarlyStopping) {
  Model model = this->model(1, Adam(2e-3F));
  EarlyStopping stopping("loss");
  stopping.min_delta(1e9).patience(1);
  EXPECT_TRUE(model.fit(data(), options().callback(backup()).callback(stopping)).stopped);
  EXPECT_FALSE(left()) << "it came to its own end";
}

TEST_F(Backups, LearningRatesThatWereLoweredStayLow) {
  {
    Model first = model(1, Adam(2e-3F));
    Callback lower;
    lower.on_epoch_begin = [](TrainingEvent& event) {
      if (event.epoch == 1) event.model->optimizer().set_learning_rate(5e-4F);
    };
    EXPECT_THROW(first.fit(data(), options().callback(lower).callback(backup()).callback(cut_after(2, 1))), PowerCut);
  }
  Model second = model(1, Adam(2e-3F));
  second.fit(data(), options().callback(backup()));
  EXPECT_EQ(second.optimizer().learning_rate(), 5e-4F);
}

TEST(BackupAndRestoreArguments, AreChecked) {
  EXPECT_THROW(BackupAndRestore(""), Error);
  EXPECT_THROW(BackupAndRestore("x").save_freq(0), Error);
  EXPECT_FALSE(BackupAndRestore::has_backup("there/is/no/such/folder"));
}

}  // namespace
}  // namespace lockstep
