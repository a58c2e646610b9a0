// The Reuters model against numbers recorded from TensorFlow, through compile and train_on_batch: on one device and two replicas, with
// the embedding's gradient seen as Keras sees it and as the textbook does.
#include "simulator/logical/gpu_registry.h"
#include "tests/engine/train/support/copies.h"
#include "tests/goldens/golden.h"

namespace lockstep {
namespace {

using golden::judge;

constexpr double kRelative = 1e-5;         // logits, loss, gradients
constexpr double kWeightTolerance = 1e-5;  // TensorFlow against itself with other kernels: no element above it
constexpr double kWeightRelative = 1e-6;   // ... and 2.3e-8 in all

struct Way {
  const char* name;
  int replicas;
  const char* gradients;  // Optimizer::embedding_gradients
  const char* suffix;     // of the recorded weights
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class ReutersGolden : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    forget_splits();
    file_ = std::make_unique<Npz>(Npz::open(golden::directory() + "/reuters.npz"));
    x_ = golden::array_i32(*file_, "x");
    y_ = golden::array_i32(*file_, "y");
  }

  void TearDown() override { forget_splits(); }

  static Strategy strategy() {
    if (GetParam().replicas == 1) return OneDeviceStrategy();
    return MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(GetParam().replicas), 512)));
  }

  Model model(const Strategy& strategy) const {
    return strategy.scope([&]() -> Model {
      Sequential model({Embedding(2000, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                        Dense(46, "softmax")});
      model.compile(Nadam(1e-3F).embedding_gradients(GetParam().gradients), SparseCategoricalCrossentropy(),
                    {"accuracy", SparseTopKCategoricalAccuracy(5)});
      model.build(Shape{300});
      EXPECT_EQ(model.count_params(), 129982);
      std::vector<NamedArray> weights;
      for (const NamedArray& weight : model.get_weights())
        weights.push_back({weight.name, golden::array_f32(*file_, "init/" + weight.name)});
      EXPECT_EQ(weights.size(), 7U);
      model.set_weights(weights);
      return model;
    });
  }

  void expect_weights(const Model& model, const std::string& prefix) const {
    for (const NamedArray& weight : model.get_weights()) {
      const auto judgement = judge(*file_, prefix + GetParam().suffix + "/" + weight.name, weight.values, kWeightTolerance);
      EXPECT_LE(judgement.share_above, 1e-3) << prefix << " " << weight.name;
      EXPECT_LE(judgement.relative_l2, kWeightRelative) << prefix << " " << weight.name;
      EXPECT_LE(judgement.sum_error, kRelative) << prefix << " " << weight.name;
    }
  }

  std::unique_ptr<Npz> file_;
  Array x_, y_;
};

TEST_P(ReutersGolden, OutputsGradientsLossesAndWeightsAreTensorFlows) {
  const Strategy strategy = this->strategy();
  Model model = this->model(strategy);
  ASSERT_EQ(strategy.num_replicas_in_sync(), GetParam().replicas);
  EXPECT_LE(judge(*file_, "probs_train", model.predict(x_, 8), 1e-5).relative_l2, kRelative);

  // Of the textbook's way only the weights were recorded; its first loss is the same.
  const bool dense = std::string(GetParam().suffix) == "_dense";
  const std::vector<float> losses = file_->array(GetParam().replicas == 1 ? "losses_single" : "losses_mirrored2").as<float>();
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const double loss = model.train_on_batch(x_, y_).at("loss");
    if (step == 0 || !dense) {
      EXPECT_LE(std::abs(loss - losses[step]) / losses[step], kRelative) << "step " << step + 1;
    }
    if (step > 0) continue;
    for (const NamedArray& gradient : model.get_gradients()) {
      const auto judgement = judge(*file_, "grad/" + gradient.name, gradient.values, 1e-5);
      EXPECT_LE(judgement.relative_l2, kRelative) << gradient.name;
      EXPECT_LE(judgement.sum_error, kRelative) << gradient.name;
    }
    expect_weights(model, "after1");
  }
  expect_weights(model, "after3");
  testing::expect_equal_copies(model);
}

// The two ways differ by far more than what is tolerated: neither can pass for the other.
TEST_P(ReutersGolden, TheOtherWayIsNoticed) {
  const std::string other = std::string(GetParam().suffix) == "_dense" ? "" : "_dense";
  const Strategy strategy = this->strategy();
  Model model = this->model(strategy);
  for (int step = 0; step < 3; ++step) model.train_on_batch(x_, y_);
  for (const NamedArray& weight : model.get_weights()) {
    if (weight.name != "embedding/embeddings") continue;
    EXPECT_GT(judge(*file_, "after3" + other + "/" + weight.name, weight.values, kWeightTolerance).relative_l2, 10 * kWeightRelative);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ReutersGolden,
                         ::testing::Values(Way{"one_device_keras", 1, "keras", ""}, Way{"one_device_textbook", 1, "textbook", "_dense"},
                                           Way{"two_replicas_keras", 2, "keras", "_mirrored2"}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lockstep
