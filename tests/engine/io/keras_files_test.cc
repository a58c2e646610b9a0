// Files recorded from Keras 3.15.1: every form loads and gives Keras' logits and optimizer state.
#include <cmath>

#include "engine/data/files/npz.h"
#include "tests/engine/io/support.h"
#include "tests/goldens/recordings.h"

namespace lockstep {
namespace {

class KerasFile : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  std::string path() const { return golden::directory() + "/" + std::get<0>(GetParam()); }

  Model load() const {
    return io_test::strategy_of(std::get<1>(GetParam())).scope([&]() -> Model {
      if (std::get<0>(GetParam()) != "mnist16.weights.h5") return load_model(path());
      Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(16, "relu"), Dense(10)});
      model.compile(Adam(0.5F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
      model.build(Shape{28, 28, 1});
      model.load_weights(path());
      return model;
    });
  }
};

double relative_l2(const std::vector<float>& ours, const std::vector<float>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    difference += std::pow(static_cast<double>(ours[i]) - theirs[i], 2);
    norm += std::pow(static_cast<double>(theirs[i]), 2);
  }
  return std::sqrt(difference / norm);
}

std::vector<float> floats(const Array& array) { return {array.data<float>(), array.data<float>() + array.size()}; }

TEST_P(KerasFile, GivesKerasLogitsAndWeights) {
  Npz recorded = Npz::open(golden::directory() + "/mnist16_predictions.npz");
  Model model = load();
  const NpyArray x = recorded.array("x");
  const Array logits = model.predict(Array(x.shape, x.as<float>()), 16);
  EXPECT_LE(relative_l2(floats(logits), recorded.array("logits").as<float>()), 1e-5);
  int compared = 0;
  for (const NamedArray& weight : model.get_weights()) {
    if (!recorded.contains("w/" + weight.name)) continue;
    EXPECT_EQ(floats(weight.values), recorded.array("w/" + weight.name).as<float>()) << weight.name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(KerasFile, GivesTheOptimizerStateAndTrainsOn) {
  Npz recorded = Npz::open(golden::directory() + "/mnist16_predictions.npz");
  Model model = load();
  EXPECT_EQ(model.iterations(), recorded.array("iterations").as<std::int64_t>().at(0));
  const NpyArray x = recorded.array("x"), y = recorded.array("y");
  const auto logs = model.train_on_batch(Array(x.shape, x.as<float>()), Array(y.shape, y.as<std::int32_t>()));
  EXPECT_EQ(logs.count("accuracy"), 1U);  // compiled as the file says
  const auto sums = model.checksums();
  for (const std::uint64_t sum : sums) EXPECT_EQ(sum, sums.front());
}

TEST_P(KerasFile, AllFormsHoldTheSameState) {
  const io_test::Folder folder;
  const Model model = load();
  const Model other = load_model(golden::directory() + "/mnist16.keras");
  EXPECT_EQ(model.checksums().front(), other.checksums().front());
  for (const char* name : {"again.keras", "again.h5"}) {
    model.save(folder.file(name));
    EXPECT_EQ(load_model(folder.file(name)).checksums().front(), model.checksums().front()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, KerasFile,
                         ::testing::Combine(::testing::Values("mnist16.keras", "mnist16_legacy.h5", "mnist16.weights.h5"),
                                            ::testing::Values(1, 2)),
                         [](const auto& instance) {
                           std::string name = std::get<0>(instance.param) + "_x" + std::to_string(std::get<1>(instance.param));
                           for (char& c : name)
                             if (c == '.') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace lockstep
