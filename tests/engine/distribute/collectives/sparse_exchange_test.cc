// A sparse gradient summed by the rows in use: which rows those are, when it is less to send, and that the sum is the dense one.
#include "engine/distribute/collectives/sparse_exchange.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/losses/loss.h"
#include "engine/nn/graph.h"
#include "engine/optim/optimizer.h"
#include "lockstep/losses.h"
#include "lockstep/sequence_layers.h"
#include "tests/engine/distribute/support/gpus.h"

namespace lockstep::testing {
namespace {

TEST(RowsInUse, AreEachOnceInOrderWithTheirPlaces) {
  const Array x(Shape{3, 4}, std::vector<std::int32_t>{5, 0, 0, 9, /**/ 0, 2, 2, 5, /**/ 7, 7, 7, 7});
  const RowsInUse rows = rows_in_use(x, {{0, 2}, {2, 1}, {3, 0}});
  EXPECT_EQ(rows.by_replica[0], (std::vector<std::int32_t>{0, 2, 5, 9}));
  EXPECT_EQ(rows.by_replica[1], (std::vector<std::int32_t>{7}));
  EXPECT_TRUE(rows.by_replica[2].empty());
  EXPECT_EQ(rows.most, 4);
  EXPECT_EQ(rows.all, (std::vector<std::int32_t>{0, 2, 5, 7, 9}));
  EXPECT_EQ(rows.positions, (std::vector<std::int32_t>{0, -1, -1, 1, -1, -1, 2, -1, -1, -1, 0, -1, 3, -1, -1}));
}

TEST(Gathering, IsChosenWhereItIsLessToSend) {
  EXPECT_TRUE(gathering_is_less(2, 2000, 30982, 7));    // a batch of newswires
  EXPECT_FALSE(gathering_is_less(2, 30000, 30982, 7));  // nearly every word
  EXPECT_FALSE(gathering_is_less(16, 4000, 30982, 7));  // many replicas: each sends all its rows to all others
  // At the border: n most (columns + 1) against 2 rows columns.
  EXPECT_TRUE(gathering_is_less(2, 6, 7, 12));
  EXPECT_FALSE(gathering_is_less(2, 7, 7, 1));
}

struct Outcome {
  std::vector<std::vector<float>> weights;  // of every replica
  std::vector<std::uint64_t> checksums;
};

Outcome train(const Gpus& gpus, SparseGradients how, bool squares, const std::vector<Array>& batches, const std::string& algorithm) {
  const int replicas = static_cast<int>(gpus.pointers.size());
  const std::vector<std::shared_ptr<LayerImpl>> layers = {Embedding(40, 3).impl(), Flatten().impl(), Dense(4).impl()};
  const Graph graph = Graph::chain(layers, Shape{6});
  StepOptions options;
  options.sparse_gradients = how;
  options.check_mirrored = true;
  MirroredStep step(graph, gpus.pointers, make_cross_device_ops(algorithm), options, nullptr);
  std::shared_ptr<OptimizerImpl> optimizer = make_optimizer("adam");
  optimizer->set_sums_squares(squares);
  step.set_training(SparseCategoricalCrossentropy().from_logits().impl(), optimizer, {});
  step.replica(0).variables().initialize(5);
  step.replicate();
  for (const Array& x : batches) {
    Array y(Shape{x.samples()}, DType::int32);
    for (std::int64_t i = 0; i < x.samples(); ++i) y.data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 4);
    step.train(x, y);
  }
  Outcome result;
  for (int r = 0; r < replicas; ++r) {
    const Array table = step.replica(r).variables().read(0);
    result.weights.emplace_back(table.data<float>(), table.data<float>() + table.size());
  }
  result.checksums = step.checksums();
  return result;
}

Outcome train(int replicas, SparseGradients how, bool squares, const std::vector<Array>& batches) {
  return train(logical_gpus(replicas), how, squares, batches, "ring");
}

std::vector<Array> some_batches() {
  std::mt19937 random(8);
  std::vector<Array> batches;
  for (const std::int64_t samples : {7, 5, 2, 1, 7}) {  // uneven, and empty for some replicas
    Array x(Shape{samples, 6}, DType::int32);
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 3 ? random() % 8 : random() % 40);
    batches.push_back(x);
  }
  return batches;
}

TEST(SparseExchange, OfTwoReplicasHasTheBitsOfADenseSum) {
  for (const bool squares : {false, true}) {
    const Outcome dense = train(2, SparseGradients::dense, squares, some_batches());
    const Outcome gathered = train(2, SparseGradients::gathered, squares, some_batches());
    const Outcome automatic = train(2, SparseGradients::automatic, squares, some_batches());
    EXPECT_EQ(gathered.checksums, dense.checksums) << squares;
    EXPECT_EQ(automatic.checksums, dense.checksums) << squares;
  }
}

TEST(SparseExchange, OfMoreReplicasIsTheSameSumInItsOwnOrder) {
  for (const int replicas : {3, 4}) {
    const Outcome dense = train(replicas, SparseGradients::dense, false, some_batches());
    const Outcome gathered = train(replicas, SparseGradients::gathered, false, some_batches());
    for (const std::uint64_t sum : gathered.checksums) EXPECT_EQ(sum, gathered.checksums.front());
    for (std::size_t i = 0; i < dense.weights[0].size(); ++i) EXPECT_NEAR(gathered.weights[0][i], dense.weights[0][i], 2e-5) << i;
    EXPECT_EQ(train(replicas, SparseGradients::gathered, false, some_batches()).checksums, gathered.checksums) << "the same bits again";
  }
}

// Nothing is packed on one card, and the sum is made in the same order: the same bits, also of squares.
TEST(SparseExchange, OnOneCardHasTheBitsOfCards) {
  int compared = 0;
  for (int replicas = 2; replicas <= kCards; ++replicas) {
    const Gpus cards = whole_cards(replicas);
    if (cards.pointers.empty()) continue;
    for (const bool squares : {false, true}) {
      const Outcome packed = train(cards, SparseGradients::gathered, squares, some_batches(), "one-device");
      const Outcome in_place = train(logical_gpus(replicas), SparseGradients::gathered, squares, some_batches(), "one-device");
      ASSERT_EQ(in_place.checksums, packed.checksums) << replicas << " replicas" << (squares ? ", squares" : "");
      ASSERT_EQ(in_place.weights.size(), static_cast<std::size_t>(replicas));
      ++compared;
    }
  }
  std::cout << compared << " pairs of runs, on one card and on cards, with equal bits\n";
  if (compared == 0) GTEST_SKIP() << "fewer than two cards here";
}

}  // namespace
}  // namespace lockstep::testing
