// Cats and dogs from photos to figures, on the real files. Short forms notice a break; LOCKSTEP_LONG=1 trains as docs/training.md records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using applications::MobileNetV2;
using applications::MobileNetV2Options;

fs::path data_folder() {
  const char* folder = std::getenv("LOCKSTEP_DATA");
  return folder ? folder : "";
}
bool is_long() { return std::getenv("LOCKSTEP_LONG") != nullptr; }

fs::path folded_weights() { return data_folder() / "weights" / "mobilenet_v2_1.0_224_float32.npz"; }

class CatsVsDogsTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (data_folder().empty() || !fs::exists(data_folder() / "cats_vs_dogs" / "train"))
      GTEST_SKIP() << "skipped: LOCKSTEP_DATA does not name a folder with cats_vs_dogs/train";
  }
  static Strategy two_gpus(std::int64_t mib) { return MirroredStrategy(split_gpu(0, {mib, mib})); }
};

// From scratch: alpha 0.35, 96 x 96, BN momentum 0.9, flips, Adam along half a cosine, 32 photos a step on two logical GPUs, and an end
// after ten epochs without a better validation accuracy.
History train_from_scratch(const Dataset& photos, const Dataset& validation, const Strategy& strategy, std::uint64_t seed, int epochs) {
  const Dataset batches = photos.shuffle(photos.cardinality(), seed).batch(32).prefetch();
  Model model = strategy.scope([&] {
    const KerasTensor flipped = RandomFlip("horizontal").name("random_flip")(Input({96, 96, 3}));
    return MobileNetV2(MobileNetV2Options().alpha(0.35).input_tensor(flipped).classes(2).batch_norm(0.9F));
  });
  model.set_seed(seed);
  model.compile(Adam(CosineDecay(2e-3F, epochs * batches.cardinality())), SparseCategoricalCrossentropy(), {"accuracy"});
  const History history = model.fit(batches, FitOptions()
                                                 .epochs(epochs)
                                                 .validation(validation.batch(64))
                                                 .callback(EarlyStopping("val_accuracy").patience(10).restore_best_weights())
                                                 .verbose(Verbose::line));
  const auto sums = model.checksums();
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums.front());
  return history;
}

TEST_F(CatsVsDogsTraining, LearnsFromScratch) {
  const CatsVsDogs data = load_cats_vs_dogs(CatsVsDogsOptions().image_size(96, 96));
  const Strategy strategy = two_gpus(1024);
  if (!is_long()) {
    // 128 photos are learnt by heart: their loss falls well below chance, which is 0.69 (for six seeds it ended between 0.45 and 0.57).
    const Dataset few = data.train.take(128).cache();
    const History history = train_from_scratch(few, few, strategy, 1, 20);
    EXPECT_LT(history.last("loss"), 0.62);
    EXPECT_GT(history.last("accuracy"), 0.62);
    return;
  }
  const Dataset photos = data.train.cache(), validation = data.validation.cache();
  double best = 0, last = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const History history = train_from_scratch(photos, validation, strategy, seed, 30);
    const std::vector<double>& values = history.history.at("val_accuracy");
    std::cout << "seed " << seed << ": best " << *std::max_element(values.begin(), values.end()) << ", last " << values.back() << "\n";
    best += *std::max_element(values.begin(), values.end()) / 3;
    last += values.back() / 3;
  }
  EXPECT_GE(best, 0.65);
  EXPECT_GE(last, 0.60);
}

// The classes of ImageNet that are cats and dogs, in Keras' numbering.
bool is_cat(std::int64_t k) { return k >= 281 && k <= 285; }
bool is_dog(std::int64_t k) { return k >= 151 && k <= 268; }

TEST_F(CatsVsDogsTraining, FoldedWeightsKnowCatsFromDogs) {
  if (!fs::exists(folded_weights())) GTEST_SKIP() << "skipped: " << folded_weights() << " is not there";
  Model model = two_gpus(2048).scope([] { return MobileNetV2(); });
  applications::load_mobilenet_v2_weights(model, folded_weights().string());
  const CatsVsDogs data = load_cats_vs_dogs(CatsVsDogsOptions().scale(1 / 127.5F, -1));
  const auto batches = data.validation.batch(32).iterate();
  Batch batch;
  ASSERT_TRUE(batches->next(batch));
  const Array scores = model.predict(batch.x);
  int right = 0;
  for (std::int64_t i = 0; i < batch.x.samples(); ++i) {
    const float* row = scores.data<float>() + i * 1000;
    const std::int64_t top = std::max_element(row, row + 1000) - row;
    right += batch.y.data<std::int32_t>()[i] == 0 ? is_cat(top) : is_dog(top);
  }
  EXPECT_GE(right, 27) << "of 32";  // with NumPy 74 of 80
}

// The photos' 1,280 features from a frozen network, and a classifier trained on them.
TEST_F(CatsVsDogsTraining, FeatureExtractionIsNearlyAlwaysRight) {
  if (!fs::exists(folded_weights())) GTEST_SKIP() << "skipped: " << folded_weights() << " is not there";
  const Strategy strategy = two_gpus(2048);
  Model base = strategy.scope([] { return MobileNetV2(MobileNetV2Options().include_top(false).pooling("avg")); });
  applications::load_mobilenet_v2_weights(base, folded_weights().string());
  const CatsVsDogs data = load_cats_vs_dogs(CatsVsDogsOptions().scale(1 / 127.5F, -1));
  const std::int64_t photos = is_long() ? -1 : 120;
  const auto features = [&](const Dataset& from) {
    std::vector<float> x;
    std::vector<std::int32_t> y;
    const auto batches = from.take(photos).batch(40).prefetch().iterate();
    for (Batch batch; batches->next(batch);) {
      const Array made = base.predict(batch.x, 40);
      x.insert(x.end(), made.data<float>(), made.data<float>() + made.size());
      y.insert(y.end(), batch.y.data<std::int32_t>(), batch.y.data<std::int32_t>() + batch.y.size());
    }
    const auto n = static_cast<std::int64_t>(y.size());
    return Batch{Array(Shape{n, 1280}, x), Array(Shape{n}, y)};
  };
  const Batch train = features(data.train), validation = features(data.validation);
  Model head = strategy.scope([] { return Model(Sequential({Dense(2, "softmax")})); });
  head.set_seed(1);
  head.compile(Adam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy"});
  const History history =
      head.fit(train.x, train.y, FitOptions().epochs(20).batch_size(32).validation(validation.x, validation.y).verbose(Verbose::silent));
  std::cout << "validation accuracy " << history.last("val_accuracy") << " on " << validation.x.samples() << " photos\n";
  EXPECT_GE(history.last("val_accuracy"), is_long() ? 0.95 : 0.90);
}

}  // namespace
}  // namespace lockstep
