// Custom training loops and gradient accumulation: the same numbers as fit and as larger batches.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/lockstep.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

struct Data {
  Array x, y;
};
Data data(std::int64_t n) {
  std::mt19937 random(7);
  Data made{Array(Shape{n, 8, 8, 1}), Array(Shape{n}, DType::int32)};
  for (std::int64_t i = 0; i < made.x.size(); ++i) made.x.data<float>()[i] = static_cast<float>(random() % 1000) / 500.0F - 1.0F;
  for (std::int64_t i = 0; i < n; ++i) made.y.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 4);
  return made;
}

Model make(const Optimizer& optimizer, bool batch_norm = true) {
  std::vector<Layer> layers{Conv2D(6, 3)};
  if (batch_norm) layers.push_back(BatchNormalization().momentum(0.5F));
  layers.insert(layers.end(), {ReLU(), MaxPooling2D(2), Flatten(), Dense(4)});
  Sequential model(layers);
  model.set_seed(3);
  model.compile(optimizer, SparseCategoricalCrossentropy().from_logits());
  model.build({8, 8, 1});
  return model;
}

double difference(const Model& a, const Model& b) {
  double most = 0;
  const auto left = a.get_weights(), right = b.get_weights();
  for (std::size_t k = 0; k < left.size(); ++k) {
    for (std::int64_t i = 0; i < left[k].values.size(); ++i)
      most = std::max(most, std::abs(static_cast<double>(left[k].values.data<float>()[i]) - right[k].values.data<float>()[i]));
  }
  return most;
}

class CustomLoop : public ::testing::TestWithParam<int> {
 protected:
  MirroredStrategy strategy{split_gpu(0, std::vector<std::int64_t>(static_cast<std::size_t>(GetParam()), 128))};
};

TEST_P(CustomLoop, HasTheBitsOfTrainOnBatch) {
  const Data all = data(26);
  const Dataset batches = Dataset::from_arrays(all.x, all.y).batch(8);  // the last one has 2: a replica of 3 gets none
  Model expected = strategy.scope([] { return make(Adam(1e-2F)); });
  Model model = strategy.scope([] { return make(Adam(1e-2F)); });
  model.check_mirrored(true);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto whole = batches.iterate(epoch);
    for (const PerReplica<Batch>& batch : strategy.distribute(batches).epoch(epoch)) {
      Batch global;
      ASSERT_TRUE(whole->next(global));
      const double wanted = expected.train_on_batch(global.x, global.y).at("loss");
      const PerReplica<double> losses = strategy.run(
          [&](const Batch& share) {
            GradientTape tape(model);
            const Array scores = tape.forward(share.x);
            EXPECT_EQ(scores.samples(), share.x.samples());
            return tape.backward(share.y, global.x.samples());
          },
          batch);
      model.apply_gradients();
      EXPECT_NEAR(strategy.reduce(ReduceOp::sum, losses), wanted, 1e-6);
    }
  }
  EXPECT_EQ(model.iterations(), 8);
  EXPECT_EQ(difference(model, expected), 0);
}

TEST_P(CustomLoop, SaysWhatIsMissingAndGoesOnAfterAFailure) {
  const Data all = data(6);
  Model model = strategy.scope([] { return make(SGD(0.1F)); });
  EXPECT_NE(error_of([&] { model.apply_gradients(); }).find("has no gradients"), std::string::npos);
  if (GetParam() > 1) {
    EXPECT_NE(error_of([&] { GradientTape tape(model); }).find("inside strategy.run"), std::string::npos);
  }
  const PerReplica<Batch> batch = *strategy.distribute(Dataset::from_arrays(all.x, all.y).batch(6)).epoch(0).begin();
  const auto step = [&](bool wrong) {
    strategy.run(
        [&](ReplicaContext& context, const Batch& share) {
          GradientTape tape(model);
          tape.forward(share.x);
          const bool fails = wrong && context.replica_id_in_sync_group() == 0;
          return tape.backward(fails ? Array(Shape{share.x.samples()}) : share.y, 6);
        },
        batch);
    model.apply_gradients();
  };
  EXPECT_NE(error_of([&] { step(true); }).find("replica 0, run: backward"), std::string::npos);
  EXPECT_EQ(error_of([&] { step(false); }), "");
  EXPECT_EQ(model.iterations(), 1);
}

TEST_P(CustomLoop, AccumulatedBatchesAreTheLargerBatch) {
  const Data all = data(48);
  Model large = strategy.scope([] { return make(Adam(1e-2F), false); });
  Model small = strategy.scope([] { return make(Adam(1e-2F).gradient_accumulation_steps(4), false); });
  small.check_mirrored(true);
  for (int update = 0; update < 3; ++update) {
    large.train_on_batch(all.x.slice(16 * update, 16), all.y.slice(16 * update, 16));
    for (int part = 0; part < 4; ++part) {
      EXPECT_EQ(small.iterations(), update);
      small.train_on_batch(all.x.slice(16 * update + 4 * part, 4), all.y.slice(16 * update + 4 * part, 4));
    }
  }
  EXPECT_EQ(small.iterations(), 3);
  EXPECT_LT(difference(small, large), 2e-5) << GetParam() << " replicas";
}

INSTANTIATE_TEST_SUITE_P(Replicas, CustomLoop, ::testing::Values(1, 2, 3));

TEST(GradientAccumulation, RefusesWhatItCannotDo) {
  EXPECT_NE(error_of([] { Adam().gradient_accumulation_steps(0); }).find("at least 1"), std::string::npos);
  Sequential model({Embedding(10, 2), Flatten(), Dense(2)});
  model.build({3});
  EXPECT_NE(error_of([&] {
              model.compile(Adam().embedding_gradients("keras").gradient_accumulation_steps(2),
                            SparseCategoricalCrossentropy().from_logits());
            }).find("can't be used together"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
