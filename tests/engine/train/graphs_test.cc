// Training, evaluation and prediction with CUDA graphs give what they give without, bit for bit: the three models, one replica and two.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/train/model_impl.h"
#include "lockstep/lockstep.h"
#include "simulator/logical/gpu_registry.h"

namespace lockstep {
namespace {

struct Workload {
  std::string name;
  std::int64_t batch;
  Shape sample;
  int ids;  // of words; 0: samples are pictures
  int classes;
  Model (*make)();
};

Model mnist() {
  return Sequential({Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dropout(0.25F), Dense(10, "softmax")});
}
Model reuters() { return Sequential({Embedding(500, 7), Conv1D(16, 5, "relu"), MaxPooling1D(2), Flatten(), Dense(46, "softmax")}); }
Model mobilenet() { return applications::MobileNetV2(applications::MobileNetV2Options().input_shape({96, 96, 3}).alpha(0.35).classes(2)); }

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {{"mnist", 12, {28, 28, 1}, 0, 10, mnist},
                                            {"reuters", 12, {100}, 500, 46, reuters},
                                            {"mobilenet_v2", 4, {96, 96, 3}, 0, 2, mobilenet}};
  return all;
}

Array samples(const Workload& work, std::int64_t batch, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x(work.sample.batched(batch), work.ids > 0 ? DType::int32 : DType::float32);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (work.ids > 0) {
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(work.ids));
    } else {
      x.data<float>()[i] = static_cast<float>(random() % 2048) / 1024.0F - 1.0F;
    }
  }
  return x;
}

Array labels(const Workload& work, std::int64_t batch, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array y(Shape{batch}, DType::int32);
  for (std::int64_t i = 0; i < batch; ++i)
    y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(work.classes));
  return y;
}

class Watched : public Model {
 public:
  explicit Watched(const Model& model) : Model(model) {}
  int graphs(std::int64_t shard, Mode mode) const {
    return dynamic_cast<MirroredStep&>(*impl_->step).replica(0).program(shard, mode).graphs();
  }
};

std::vector<float> all_of(const std::vector<NamedArray>& arrays) {
  std::vector<float> values;
  for (const NamedArray& one : arrays) values.insert(values.end(), one.values.data<float>(), one.values.data<float>() + one.values.size());
  return values;
}

class Graphs : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void SetUp() override { forget_splits(); }
  void TearDown() override { forget_splits(); }
  const Workload& workload() const { return workloads()[static_cast<std::size_t>(std::get<0>(GetParam()))]; }
  int replicas() const { return std::get<1>(GetParam()); }

  // Everything that a run brings, in a row.
  std::vector<float> results(bool graphs) const {
    forget_splits();
    const MirroredStrategy strategy(split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(replicas()), 512)));
    StepOptions options;
    options.graphs = graphs;
    strategy.set_step_options(options);
    Watched model(strategy.scope([&] {
      Model made = workload().make();
      made.set_seed(5);
      made.build(workload().sample);
      return made;
    }));
    std::vector<float> all;
    const auto keep = [&](const std::vector<float>& values) { all.insert(all.end(), values.begin(), values.end()); };
    const auto train = [&](std::int64_t batch, std::uint32_t seed) {
      const Logs logs = model.train_on_batch(samples(workload(), batch, seed), labels(workload(), batch, seed));
      keep({static_cast<float>(logs.at("loss")), static_cast<float>(logs.at("accuracy"))});
    };
    const auto predict = [&] {
      const Array y = model.predict(samples(workload(), 2 * workload().batch, 90), workload().batch);
      keep({y.data<float>(), y.data<float>() + y.size()});
    };
    const std::int64_t shard = workload().batch / replicas();

    model.compile(Adam(1e-3F), SparseCategoricalCrossentropy(), {"accuracy"});
    for (std::uint32_t step = 0; step < 3; ++step) train(workload().batch, step);
    EXPECT_EQ(model.graphs(shard, Mode::training) > 0, graphs);
    train(workload().batch - 1, 10);  // a short batch has a program of its own
    predict();
    predict();
    EXPECT_EQ(model.graphs(shard, Mode::inference) > 0, graphs);
    train(2 * workload().batch, 11);  // memory grows: graphs with old addresses would be wrong
    for (std::uint32_t step = 20; step < 22; ++step) train(workload().batch, step);
    keep(all_of(model.get_weights()));

    model.layers().front().set_trainable(false);
    model.compile(SGD(1e-2F), SparseCategoricalCrossentropy(), {"accuracy"});
    for (std::uint32_t step = 30; step < 33; ++step) train(workload().batch, step);
    EXPECT_EQ(model.graphs(shard, Mode::training) > 0, graphs);
    keep(all_of(model.get_weights()));
    return all;
  }
};

TEST_P(Graphs, GiveTheSameBits) {
  const std::vector<float> without = results(false);
  const std::vector<float> with = results(true);
  ASSERT_EQ(with.size(), without.size());
  EXPECT_EQ(std::memcmp(with.data(), without.data(), with.size() * sizeof(float)), 0);
}
INSTANTIATE_TEST_SUITE_P(Train, Graphs, ::testing::Combine(::testing::Range(0, 3), ::testing::Range(1, 3)), [](const auto& test) {
  return workloads()[static_cast<std::size_t>(std::get<0>(test.param))].name + "_" + std::to_string(std::get<1>(test.param));
});

}  // namespace
}  // namespace lockstep
