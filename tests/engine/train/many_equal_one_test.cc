// Many replicas learn what one device learns: the three models, every algorithm, uneven shares. Sums are rounded in another order, so the
// numbers agree to rounding, not to the bit; bits are compared where all sums are exact
// (tests/engine/distribute/step/mirrored_step_test.cc).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/distribute/collectives/cross_device_ops.h"
#include "lockstep/lockstep.h"
#include "simulator/logical/gpu_registry.h"

namespace lockstep {
namespace {

struct Workload {
  std::string name;
  std::int64_t batch;
  double gradient_tolerance;  // relative L2, of one gradient
  double weights_tolerance;   // relative L2, after 20 steps of SGD
  Model (*make)();
  Array (*samples)(std::int64_t batch, std::uint32_t seed);
  int classes;
};

Model mnist() {
  Sequential model({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10, "softmax")});
  model.set_seed(5);
  model.build({28, 28, 1});
  return model;
}

Model reuters() {
  Sequential model({Embedding(2000, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2), Flatten(),
                    Dense(46, "softmax")});
  model.set_seed(5);
  model.build({100});
  return model;
}

Model mobilenet() {
  return applications::MobileNetV2(
      applications::MobileNetV2Options().input_shape({96, 96, 3}).alpha(0.35).classes(2).batch_norm(0.9F).synchronized_batch_norm(true));
}

// Each with waves of its own: pictures of mere noise look all the same to deep layers, and batch normalisation then enlarges rounding.
Array photos(std::int64_t batch, std::uint32_t seed) {
  std::mt19937 random(seed);
  constexpr std::int64_t kSide = 96;
  Array x(Shape{batch, kSide, kSide, 3});
  float* pixel = x.data<float>();
  const auto draw = [&](float scale) { return scale * static_cast<float>(random() % 1024) / 1024.0F; };
  for (std::int64_t n = 0; n < batch; ++n) {
    float wave[3][4];
    for (auto& channel : wave) channel[0] = draw(0.3F), channel[1] = draw(0.3F), channel[2] = draw(6.0F), channel[3] = draw(1.0F);
    for (std::int64_t i = 0; i < kSide * kSide; ++i) {
      const auto row = static_cast<float>(i / kSide);
      const auto column = static_cast<float>(i % kSide);
      for (const auto& [down, across, phase, size] : wave) *pixel++ = size * std::sin(down * row + across * column + phase) + draw(0.1F);
    }
  }
  return x;
}

// Keeps what comes into a ReLU6 away from its edges (beta 3, gamma 0.75): where a value crosses an edge the gradient jumps, and after some
// steps two runs that differ by rounding differ by much more, on one device just as on many.
void smooth(Model& model) {
  std::vector<NamedArray> weights = model.get_weights();
  for (NamedArray& weight : weights) {
    const bool beta = weight.name.find("/beta") != std::string::npos;
    const bool gamma = weight.name.find("/gamma") != std::string::npos;
    if ((!beta && !gamma) || weight.name.find("project") != std::string::npos) continue;
    for (std::int64_t i = 0; i < weight.values.size(); ++i) weight.values.data<float>()[i] = beta ? 3.0F : 0.75F;
  }
  model.set_weights(weights);
}

template <int height, int width, int channels>
Array images(std::int64_t batch, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(Shape{batch, height, width, channels});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(random() % 2048) / 1024.0F - 1.0F;
  return x;
}

Array texts(std::int64_t batch, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(Shape{batch, 100}, DType::int32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3 ? random() % 2000 : 0);
  return x;
}

Array labels(std::int64_t batch, int classes, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array y(Shape{batch}, DType::int32);
  for (std::int64_t i = 0; i < batch; ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
  return y;
}

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {{"mnist", 26, 1e-6, 1e-5, mnist, images<28, 28, 1>, 10},
                                            {"reuters", 26, 1e-6, 1e-5, reuters, texts, 46},
                                            {"mobilenet_v2", 10, 1e-5, 1e-4, mobilenet, photos, 2}};
  return all;
}

// Over all arrays together: |a - b| / |b|.
double relative_l2(const std::vector<NamedArray>& a, const std::vector<NamedArray>& b) {
  double apart = 0;
  double norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (std::int64_t i = 0; i < a[k].values.size(); ++i) {
      const double wanted = b[k].values.data<float>()[i];
      apart += std::pow(a[k].values.data<float>()[i] - wanted, 2);
      norm += wanted * wanted;
    }
  }
  return std::sqrt(apart / norm);
}

class ManyEqualOne : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { forget_splits(); }
  void TearDown() override { forget_splits(); }
  const Workload& workload() const { return workloads()[static_cast<std::size_t>(GetParam())]; }

  Model on_one(const Optimizer& optimizer) const { return compiled(workload().make(), optimizer); }
  Model on_many(int replicas, const std::string& algorithm, const Optimizer& optimizer) const {
    forget_splits();
    const MirroredStrategy strategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas), 512)),
                                    CrossDeviceOpsName{algorithm});
    Model model = compiled(strategy.scope([&] { return workload().make(); }), optimizer);
    model.check_mirrored(algorithm != "one-copy");  // which has no copies to compare
    return model;
  }
  double train(Model& model, std::uint32_t step) const {
    return model.train_on_batch(workload().samples(workload().batch, step), labels(workload().batch, workload().classes, step)).at("loss");
  }

 private:
  static Model compiled(Model model, const Optimizer& optimizer) {
    model.compile(optimizer, SparseCategoricalCrossentropy());
    return model;
  }
};

TEST_P(ManyEqualOne, InTheReducedGradient) {
  Model one = on_one(SGD(0.01F));
  const double loss = train(one, 1);
  const std::vector<NamedArray> expected = one.get_gradients();
  for (const std::string& algorithm : cross_device_ops_names()) {
    if (algorithm == "nccl") continue;  // refuses logical GPUs; between cards it has the ring's order
    for (const int replicas : {2, 3, 4}) {
      Model many = on_many(replicas, algorithm, SGD(0.01F));
      EXPECT_NEAR(train(many, 1), loss, 1e-5 * loss);
      EXPECT_LE(relative_l2(many.get_gradients(), expected), workload().gradient_tolerance) << algorithm << ", " << replicas;
    }
  }
}

TEST_P(ManyEqualOne, InWeightsAfterTwentyStepsOfSgd) {
  Model one = on_one(SGD(0.01F));
  Model many = on_many(3, "ring", SGD(0.01F));
  smooth(one);
  smooth(many);
  for (std::uint32_t step = 1; step <= 20; ++step) {
    train(one, step);
    train(many, step);
  }
  EXPECT_LE(relative_l2(many.get_weights(), one.get_weights()), workload().weights_tolerance);
}

TEST_P(ManyEqualOne, InLossesOverTwentyStepsOfAdam) {
  Model one = on_one(Adam(1e-3F));
  Model many = on_many(3, "tree", Adam(1e-3F));
  smooth(one);
  smooth(many);
  for (std::uint32_t step = 1; step <= 20; ++step) {
    const double expected = train(one, step);
    EXPECT_NEAR(train(many, step), expected, 1e-4) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryModel, ManyEqualOne, ::testing::Range(0, 3),
                         [](const auto& test) { return workloads()[static_cast<std::size_t>(test.param)].name; });

}  // namespace
}  // namespace lockstep
