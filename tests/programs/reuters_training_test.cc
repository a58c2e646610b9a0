// Real training on the real newswires, two logical GPUs. LOCKSTEP_LONG=1: five seeds and ten epochs, as docs/training.md records them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

struct Best {
  double accuracy = 0, top_5 = 0;
};

Best train(const Reuters& data, const Strategy& strategy, std::uint64_t seed, int epochs) {
  Model model = strategy.scope([seed]() -> Model {
    Sequential made({Embedding(30982, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                     Dense(46, "softmax")});
    made.set_seed(seed);
    made.compile(Nadam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy", SparseTopKCategoricalAccuracy(5, "top_5")});
    return made;
  });
  const History history = model.fit(pad_sequences(data.x_train, 300), data.y_train,
                                    FitOptions()
                                        .epochs(epochs)
                                        .batch_size(32)
                                        .seed(seed)
                                        .validation(pad_sequences(data.x_test, 300), data.y_test)
                                        .verbose(Verbose::line));
  EXPECT_EQ(model.count_params(), 332856);
  EXPECT_EQ(model.iterations(), 281 * epochs);
  const auto sums = model.checksums();
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums.front());
  const auto best = [&](const char* name) {
    const std::vector<double>& values = history.history.at(name);
    return *std::max_element(values.begin(), values.end());
  };
  return {best("val_accuracy"), best("val_top_5")};
}

// TensorFlow on the same files, three seeds: 0.635, 0.635, 0.633 and 0.82, 0.81, 0.81.
TEST(ReutersTraining, ReachesTensorFlowsAccuracyWithReplicasBitIdentical) {
  const char* folder = std::getenv("LOCKSTEP_DATA");
  if (!folder || !std::filesystem::exists(std::filesystem::path(folder) / "reuters" / "reuters.npz"))
    GTEST_SKIP() << "skipped: LOCKSTEP_DATA does not name a folder with reuters/reuters.npz";
  const bool whole = std::getenv("LOCKSTEP_LONG") != nullptr;
  const Reuters data = load_reuters();
  const Strategy strategy = MirroredStrategy(split_gpu(0, {1024, 1024}));
  const int seeds = whole ? 5 : 1;
  Best mean;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Best best = train(data, strategy, static_cast<std::uint64_t>(seed), whole ? 10 : 4);
    std::cout << "seed " << seed << ": best validation accuracy " << best.accuracy << ", top-5 " << best.top_5 << "\n";
    mean.accuracy += best.accuracy / seeds;
    mean.top_5 += best.top_5 / seeds;
  }
  EXPECT_GE(mean.accuracy, whole ? 0.62 : 0.60);
  EXPECT_GE(mean.top_5, whole ? 0.80 : 0.77);
}

}  // namespace
}  // namespace lockstep
