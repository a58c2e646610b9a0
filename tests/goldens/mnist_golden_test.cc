// The MNIST model against numbers recorded from TensorFlow, through compile and train_on_batch, on one device and two replicas.
#include "simulator/logical/gpu_registry.h"
#include "tests/engine/train/support/copies.h"
#include "tests/goldens/golden.h"

namespace lockstep {
namespace {

using golden::judge;

constexpr double kRelative = 1e-5;         // logits, loss, gradients
constexpr double kWeightTolerance = 1e-5;  // TensorFlow against itself with other kernels: no element above it
constexpr double kWeightRelative = 1e-6;   // ... and 5e-8 in all; Adam amplifies rounding where a gradient is near 0

class MnistGolden : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    forget_splits();
    file_ = std::make_unique<Npz>(Npz::open(golden::directory() + "/mnist.npz"));
    x_ = golden::array_f32(*file_, "x");
    y_ = golden::array_i32(*file_, "y");
  }

  void TearDown() override { forget_splits(); }

  int replicas() const { return GetParam(); }
  std::string suffix() const { return replicas() == 1 ? "" : "_mirrored2"; }

  Strategy strategy() const {
    if (replicas() == 1) return OneDeviceStrategy();
    return MirroredStrategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas()), 512)));
  }

  Model model(const Strategy& strategy) const {
    return strategy.scope([&]() -> Model {
      Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
      model.compile(Adam(1e-3F), SparseCategoricalCrossentropy().from_logits(), {"accuracy"});
      model.build(Shape{28, 28, 1});
      std::vector<NamedArray> weights;
      for (const NamedArray& weight : model.get_weights())
        weights.push_back({weight.name, golden::array_f32(*file_, "init/" + weight.name)});
      EXPECT_EQ(weights.size(), 6U);
      model.set_weights(weights);
      return model;
    });
  }

  void expect_weights(const Model& model, const std::string& prefix) const {
    for (const NamedArray& weight : model.get_weights()) {
      const auto judgement = judge(*file_, prefix + suffix() + "/" + weight.name, weight.values, kWeightTolerance);
      EXPECT_LE(judgement.share_above, 1e-3) << prefix << " " << weight.name;
      EXPECT_LE(judgement.relative_l2, kWeightRelative) << prefix << " " << weight.name;
      EXPECT_LE(judgement.sum_error, kRelative) << prefix << " " << weight.name;
    }
  }

  std::unique_ptr<Npz> file_;
  Array x_, y_;
};

TEST_P(MnistGolden, LogitsGradientsLossesAndWeightsAreTensorFlows) {
  const Strategy strategy = this->strategy();
  Model model = this->model(strategy);
  ASSERT_EQ(strategy.num_replicas_in_sync(), replicas());

  EXPECT_LE(judge(*file_, "logits_infer", model.predict(x_, 16), 1e-5).relative_l2, kRelative);
  const std::vector<float> losses = file_->array(replicas() == 1 ? "losses_single" : "losses_mirrored2").as<float>();
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const double loss = model.train_on_batch(x_, y_).at("loss");
    EXPECT_LE(std::abs(loss - losses[step]) / losses[step], kRelative) << "step " << step + 1;
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

INSTANTIATE_TEST_SUITE_P(Replicas, MnistGolden, ::testing::Values(1, 2),
                         [](const auto& instance) { return "x" + std::to_string(instance.param); });

}  // namespace
}  // namespace lockstep
