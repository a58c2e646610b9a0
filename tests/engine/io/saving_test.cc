// Saving and loading: our files read by ourselves, bit for bit, and training that goes on as if nothing had happened.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/io/hdf5_file.h"
#include "tests/engine/io/support.h"

namespace lockstep {
namespace {

using io_test::Folder;

class SavedFile : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  std::string ending() const { return std::get<0>(GetParam()); }
  Strategy strategy() const { return io_test::strategy_of(std::get<1>(GetParam())); }

  Model load(const std::string& path, const Optimizer& optimizer) const {
    if (ending() != ".weights.h5") return load_model(path);
    Sequential model = io_test::small_model(optimizer, 99);
    model.load_weights(path);
    return model;
  }
};

TEST_P(SavedFile, KeepsEveryBitOfWeightsAndOptimizer) {
  const Folder folder;
  strategy().scope([&] {
    Model model = io_test::small_model();
    io_test::train(model, 0, 3);
    model.save(folder.file("m" + ending()));
    const Model loaded = load(folder.file("m" + ending()), Adam(2e-3F));
    EXPECT_EQ(loaded.checksums(), model.checksums());
    EXPECT_EQ(loaded.iterations(), 3);
  });
}

TEST_P(SavedFile, TrainingGoesOnAsIfNeverInterrupted) {
  const Folder folder;
  strategy().scope([&] {
    for (const Optimizer& optimizer : std::vector<Optimizer>{Adam(2e-3F), Nadam(), AdamW(), SGD(0.1F), SGD(0.1F, 0.9F, true)}) {
      Model whole = io_test::small_model(optimizer);
      io_test::train(whole, 0, 3);
      whole.save(folder.file("m" + ending()));
      io_test::train(whole, 3, 3);
      Model resumed = load(folder.file("m" + ending()), optimizer);
      io_test::train(resumed, 3, 3);
      EXPECT_EQ(resumed.checksums(), whole.checksums()) << optimizer.name();
      EXPECT_EQ(resumed.iterations(), 6);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Forms, SavedFile, ::testing::Combine(::testing::Values(".keras", ".h5", ".weights.h5"), ::testing::Values(1, 2)),
                         [](const auto& instance) {
                           const std::string form = std::get<0>(instance.param);
                           return (form == ".keras" ? "keras"
                                   : form == ".h5"  ? "legacy"
                                                    : "weights") +
                                  std::string("_x") + std::to_string(std::get<1>(instance.param));
                         });

TEST(Saving, LearningRateThatWasSetIsKept) {
  const Folder folder;
  Optimizer optimizer = Adam(2e-3F);
  Model model = io_test::small_model(optimizer);
  optimizer.set_learning_rate(5e-4F);
  io_test::train(model, 0, 1);
  model.save(folder.file("m.weights.h5"));
  Optimizer other = Adam(1.0F);
  Sequential loaded = io_test::small_model(other, 3);
  loaded.load_weights(folder.file("m.weights.h5"));
  EXPECT_EQ(other.learning_rate(), 5e-4F);
}

TEST(Saving, CompilationComesBackWithItsOptions) {
  const Folder folder;
  Sequential model({Input(Shape{4}), Dense(3, "softmax")});
  const Array x(Shape{2, 4}, std::vector<float>{1, 2, 3, 4, -1, 0, 1, 2}), y(Shape{2, 3}, std::vector<float>{1, 0, 0, 0, 0, 1});
  model.compile(SGD(0.5F, 0.9F, true).global_clipnorm(0.01F), CategoricalCrossentropy(), {CategoricalAccuracy("hits")});
  for (const char* name : {"c.keras", "c.h5"}) {
    model.save(folder.file(name));
    Model loaded = load_model(folder.file(name));
    EXPECT_EQ(loaded.train_on_batch(x, y).count("hits"), 1U);
    EXPECT_EQ(model.train_on_batch(x, y).count("hits"), 1U);
    EXPECT_EQ(loaded.checksums(), model.checksums());
  }
  Sequential labels({Input(Shape{4}), Dense(5)});
  labels.compile(Nadam(), SparseCategoricalCrossentropy().from_logits(), {SparseTopKCategoricalAccuracy(2, "top_2")});
  labels.save(folder.file("l.keras"));
  const auto logs = load_model(folder.file("l.keras")).test_on_batch(x, Array(Shape{2}, std::vector<std::int32_t>{0, 4}));
  EXPECT_EQ(logs.count("top_2"), 1U);
}

TEST(Saving, EveryLayerComesBackWithItsOptions) {
  const Folder folder;
  const Sequential model({Input(Shape{12, 12, 3}), Rescaling(0.5F, -1), RandomFlip("horizontal"), ZeroPadding2D(0, 1, 0, 1),
                          Conv2D(8, {3, 2}).strides(2).padding("same").use_bias(false), BatchNormalization().momentum(0.9F).epsilon(1e-2F),
                          ReLU(6), DepthwiseConv2D(3, "relu").padding("same").depth_multiplier(2), AveragePooling2D(2),
                          MaxPooling2D(2).strides(1).padding("same"), Dropout(0.25F), Reshape(Shape{-1, 16}), Flatten(),
                          Dense(7, "relu").name("hidden").kernel_initializer("he_normal"), Dense(4), Softmax()});
  const Sequential sequence({Input(Shape{20}), Embedding(50, 8), Conv1D(6, 3, "relu").strides(2), MaxPooling1D(2), Flatten(), Dense(3)});
  for (const Model& each : {static_cast<const Model&>(model), static_cast<const Model&>(sequence)}) {
    for (const char* name : {"all.keras", "all.h5"}) {
      each.save(folder.file(name));
      const Model loaded = load_model(folder.file(name));
      EXPECT_EQ(loaded.summary(), each.summary());
      EXPECT_EQ(loaded.checksums(), each.checksums());
    }
  }
}

TEST(Saving, FunctionalModelsComeBack) {
  const Folder folder;
  const KerasTensor input = Input(Shape{6, 6, 2});
  const KerasTensor wide = Conv2D(4, 3).padding("same").name("wide")(input);
  const KerasTensor sum = Add()({wide, ReLU()(wide)});
  Model model(input, Dense(3)(GlobalAveragePooling2D()(sum)), "residual");
  const Array x(Shape{4, 6, 6, 2}, std::vector<float>(4 * 72, 0.5F));
  for (const char* name : {"f.keras", "f.h5"}) {
    model.save(folder.file(name));
    Model loaded = load_model(folder.file(name));
    EXPECT_EQ(loaded.summary(), model.summary());
    const Array a = model.predict(x), b = loaded.predict(x);
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
  }
}

TEST(Saving, WeightsOfAnotherShapeAreRefusedAndTheModelStaysAsItWas) {
  const Folder folder;
  io_test::small_model().save(folder.file("m.weights.h5"));
  Sequential other({Conv2D(4, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(6, "relu"), Dense(3)});
  other.build(Shape{6, 6, 1});
  const auto before = other.checksums();
  try {
    other.load_weights(folder.file("m.weights.h5"));
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"dense/kernel\" has shape (16, 5), but the model wants (16, 6)"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(other.checksums(), before);
}

TEST(Saving, AnotherOptimizersStateIsRefused) {
  const Folder folder;
  Model model = io_test::small_model();
  model.save(folder.file("m.weights.h5"));
  Sequential other = io_test::small_model(SGD(0.1F, 0.9F));
  EXPECT_THROW(other.load_weights(folder.file("m.weights.h5")), Error);
}

TEST(Saving, UnknownEndingsAndMissingFilesAreSentences) {
  const Folder folder;
  const Model model = io_test::small_model();
  EXPECT_THROW(model.save(folder.file("m.pt")), Error);
  EXPECT_THROW(model.save_weights(folder.file("m.keras")), Error);
  EXPECT_THROW(load_model(folder.file("absent.keras")), Error);
  model.save(folder.file("m.weights.h5"));
  EXPECT_THROW(load_model(folder.file("m.weights.h5")), Error);
}

TEST(AtomicFile, LeavesTheOldFileWholeWhereTheNewOneFails) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "skipped: no /dev/full";
  const Folder folder;
  const Bytes old{1, 2, 3};
  write_file_atomically(folder.file("a.bin"), old);
  EXPECT_THROW(write_file_atomically(folder.file("nowhere/a.bin"), old), Error);
  EXPECT_THROW(write_file_atomically(std::filesystem::path(folder.file("a.bin")).parent_path().string(), old), Error);
  EXPECT_EQ(read_whole_file(folder.file("a.bin")), old);
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, ReplacesAndKeepsRights) {
  const Folder folder;
  write_file_atomically(folder.file("a.bin"), {1});
  ASSERT_EQ(::chmod(folder.file("a.bin").c_str(), 0640), 0);
  write_file_atomically(folder.file("a.bin"), {2, 3});
  struct stat status = {};
  ASSERT_EQ(::stat(folder.file("a.bin").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_EQ(read_whole_file(folder.file("a.bin")), (Bytes{2, 3}));
  EXPECT_EQ(folder.count(), 1U);
}

TEST(Hdf5, ListsTooLongForAnAttributeAreCutAndJoined) {
  std::vector<std::string> names;
  for (int i = 0; i < 9000; ++i) names.push_back("layer_" + std::to_string(i));
  hdf5::Writer writer;
  writer.group("g");
  writer.texts("g", "names", names);
  writer.texts("g", "none", {});
  const hdf5::Reader reader("image", writer.finish());
  EXPECT_EQ(reader.texts("g", "names"), names);
  EXPECT_TRUE(reader.texts("g", "none").empty());
}

// A schedule is in the file, and goes on where it was.
TEST(SavedSchedules, GoOnExactly) {
  const io_test::Folder folder;
  const std::vector<LearningRate> rates = {ExponentialDecay(1e-2F, 3, 0.7F), ExponentialDecay(1e-2F, 2, 0.5F, true),
                                           CosineDecay(1e-2F, 8, 0.1F), PiecewiseConstantDecay({2, 4}, {1e-2F, 5e-3F, 1e-3F})};
  for (const LearningRate& rate : rates) {
    for (const char* name : {"a.keras", "a.h5"}) {
      Sequential whole = io_test::small_model(Nadam(rate)), parts = io_test::small_model(Nadam(rate));
      io_test::train(whole, 0, 6);
      io_test::train(parts, 0, 3);
      parts.save(folder.file(name));
      Model again = load_model(folder.file(name));
      io_test::train(again, 3, 3);
      EXPECT_EQ(again.checksums(), whole.checksums()) << name << ", " << rate.description().class_name;
    }
  }
  // A function of one's own can't be written down: the rate it had is.
  Sequential own = io_test::small_model(Adam(LearningRate([](std::int64_t step) { return step < 2 ? 0.01F : 0.25F; })));
  io_test::train(own, 0, 2);
  own.save(folder.file("own.keras"));
  EXPECT_FLOAT_EQ(load_model(folder.file("own.keras")).optimizer().learning_rate(), 0.25F);
}

TEST(SavedOptimizers, KeepHowTheySeeEmbeddingGradients) {
  const io_test::Folder folder;
  const auto make = [] {
    Sequential model({Embedding(6, 3).input_shape({4}), Flatten(), Dense(2)});
    model.set_seed(3);
    model.compile(Adam(1e-2F).embedding_gradients("keras"), SparseCategoricalCrossentropy().from_logits(), {},
                  {SparseCategoricalAccuracy("weighted")});
    return model;
  };
  const Array x(Shape{2, 4}, std::vector<std::int32_t>{0, 0, 1, 5, 2, 0, 0, 3}), y(Shape{2}, std::vector<std::int32_t>{0, 1});
  Sequential whole = make(), parts = make();
  for (int i = 0; i < 4; ++i) whole.train_on_batch(x, y);
  for (int i = 0; i < 2; ++i) parts.train_on_batch(x, y);
  for (const char* name : {"a.keras", "a.h5"}) {
    parts.save(folder.file(name));
    Model again = load_model(folder.file(name));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(again.train_on_batch(x, y).count("weighted"), 1U);
    EXPECT_EQ(again.checksums(), whole.checksums()) << name;
  }
}

TEST(SavedLayers, ActivationsAndPoolingComeBack) {
  const io_test::Folder folder;
  for (const char* activation : {"linear", "relu", "relu6", "sigmoid", "tanh", "softmax"}) {
    Sequential model({Conv2D(3, 3, activation).input_shape({6, 6, 1}), Activation(activation), GlobalMaxPooling2D(), Dense(3, activation)});
    model.set_seed(1);
    const io_test::Batch samples = io_test::batch(1);
    for (const char* name : {"a.keras", "a.h5"}) {
      model.save(folder.file(name));
      Model again = load_model(folder.file(name));
      const Array one = model.predict(samples.x), two = again.predict(samples.x);
      EXPECT_EQ(std::vector<float>(one.data<float>(), one.data<float>() + one.size()),
                std::vector<float>(two.data<float>(), two.data<float>() + two.size()))
          << name << ", " << activation;
    }
  }
}

TEST(AtomicFile, PipesDevicesFoldersAndLinksToNothingAreRefused) {
  const io_test::Folder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("nothing", folder.file("link"));
  std::filesystem::create_directory(folder.file("folder"));
  for (const std::string& path : {folder.file("pipe"), folder.file("link"), folder.file("folder"), std::string("/dev/null"),
                                  folder.file("none/m.keras"), std::string("/proc/m.keras")}) {
    EXPECT_THROW(require_writable(path), Error) << path;
    EXPECT_THROW(write_file_atomically(path, {1}), Error) << path;
  }
  EXPECT_EQ(folder.count(), 3U) << "nothing is left behind";
  require_writable(folder.file("new"));
  EXPECT_EQ(folder.count(), 3U);
}

TEST(AtomicFile, OnlyFilesOfWritersThatAreGoneAreRemoved) {
  const io_test::Folder folder;
  const std::string mine = folder.file("m.keras.unfinished-aaaaaa"), dead = folder.file("m.keras.unfinished-bbbbbb");
  std::ofstream(mine) << "a";
  std::ofstream(dead) << "b";
  std::ofstream(folder.file("m.keras.backup")) << "c";
  const int held = ::open(mine.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  write_file_atomically(folder.file("m.keras"), {1});
  EXPECT_TRUE(std::filesystem::exists(mine)) << "another process writes it";
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(folder.file("m.keras.backup")));
  ::close(held);
}

TEST(TrainingPlaces, AreKeptInAllThreeForms) {
  const io_test::Folder folder;
  const io_test::Batch samples = io_test::batch(1);
  Model model = OneDeviceStrategy().scope([] { return io_test::small_model(); });
  model.fit(samples.x, samples.y, FitOptions().batch_size(3).seed(5).epochs(2).verbose(Verbose::silent));
  for (const char* name : {"m.keras", "m.h5", "m.weights.h5"}) {
    model.save(folder.file(name));
    Model other = OneDeviceStrategy().scope([] { return io_test::small_model(); });
    EXPECT_FALSE(other.place());
    other.load_weights(folder.file(name));
    ASSERT_TRUE(other.place()) << name;
    EXPECT_EQ(difference(*model.place(), *other.place()), "");
    EXPECT_EQ(other.place()->epoch, 2);
    EXPECT_EQ(other.place()->seed, 5U);
  }
}

}  // namespace
}  // namespace lockstep
