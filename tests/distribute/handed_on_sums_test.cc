// Replicas of one card that add their large gradients one after another while they make them: the bits of those who add up afterwards.
#include "handed_on_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "lockstep/error.h"
#include "lockstep/layers.h"
#include "mirrored_step.h"
#include "optim/nadam.h"
#include "replica_threads.h"
#include "support/gpus.h"
#include "support/model.h"
#include "trace.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

constexpr std::int64_t kNever = std::int64_t{1} << 60;

Graph two_dense_graph() {
  std::vector<std::shared_ptr<LayerImpl>> parts;
  for (const Layer& layer :
       {Layer(Conv2D(4, 3, "relu")), Layer(Flatten()), Layer(Dense(40, "relu")), Layer(Dropout(0.2F)), Layer(Dense(3, "softmax"))})
    parts.push_back(layer.impl());
  return Graph::chain(parts, {6, 6, 1});
}

struct Trained {
  Trained(const Graph& graph, int replicas, std::int64_t handed_on_bytes, int accumulation = 1, bool graphs = false,
          Tracer* tracer = nullptr)
      : gpus(logical_gpus(replicas)),
        step(graph, gpus.pointers, make_cross_device_ops("one-copy"), options(handed_on_bytes, graphs), tracer) {
    auto optimizer = std::make_shared<NadamImpl>(1e-2F, 0.9F, 0.999F, 1e-7F);
    optimizer->set_accumulation_steps(accumulation);
    step.set_training(make_loss("sparse_categorical_crossentropy"), optimizer, {});
    initialize(step.replica(0), 3);
    step.replicate();
  }
  static StepOptions options(std::int64_t handed_on_bytes, bool graphs) {
    StepOptions options;
    options.first_bucket_bytes = 256;
    options.bucket_bytes = 512;
    options.handed_on_bytes = handed_on_bytes;
    options.graphs = graphs;
    return options;
  }
  void train(std::int64_t batch, std::uint32_t seed) { step.train(random_samples({6, 6, 1}, batch, seed), labels(batch, 3, seed)); }
  std::vector<float> weights() { return download(step.replica(0), step.replica(0).variables().weights()); }
  std::vector<float> kernel_gradient(int replica) {
    const VariableStore& variables = step.replica(replica).variables();
    return download(step.replica(replica), variables.gradient(variables.layout().find("dense/kernel")));
  }
  // Whether replica 1 has left its own place for the gradient alone.
  bool hands_on() {
    const std::vector<float> own = kernel_gradient(1);
    return std::all_of(own.begin(), own.end(), [](float value) { return value == 0.0F; });
  }

  Gpus gpus;
  MirroredStep step;
};

TEST(HandedOnSums, HaveTheBitsOfGradientsThatAreAddedAfterwards) {
  for (const int replicas : {3, 4, 8}) {
    Trained apart(two_dense_graph(), replicas, kNever), together(two_dense_graph(), replicas, 0);
    std::uint32_t seed = 1;
    for (const std::int64_t batch : {16, 7, 3, 1, 40}) {  // uneven, and smaller than the number of replicas
      apart.train(batch, seed);
      together.train(batch, seed++);
      ASSERT_EQ(together.kernel_gradient(0), apart.kernel_gradient(0)) << replicas << " replicas, batch " << batch;
    }
    EXPECT_TRUE(together.hands_on());
    EXPECT_FALSE(apart.hands_on());
    EXPECT_EQ(together.weights(), apart.weights());
  }
}

TEST(HandedOnSums, AreForThreeReplicasAndMore) {
  Trained two(two_dense_graph(), 2, 0);
  two.train(8, 1);
  EXPECT_FALSE(two.hands_on());
}

TEST(HandedOnSums, AreForLargeGradientsOfLayersThatCanAdd) {
  const Graph graph = two_dense_graph();
  const VariableLayout& layout = graph.layout();
  const auto chosen = [&](std::int64_t bytes) {
    std::vector<std::string> names;
    const std::vector<bool> all = gradients_to_hand_on(graph, bytes);
    for (std::size_t v = 0; v < all.size(); ++v)
      if (all[v]) names.push_back(layout.specs()[v].name);
    return names;
  };
  EXPECT_EQ(chosen(0), (std::vector<std::string>{"dense/kernel", "dense_1/kernel"}));
  EXPECT_EQ(chosen(64 * 40 * 4), (std::vector<std::string>{"dense/kernel"}));
  EXPECT_EQ(chosen(64 * 40 * 4 + 1), (std::vector<std::string>{}));
}

// What each of them needs is written where State::hands_on is.
TEST(HandedOnSums, AreLeftAloneByTracesGraphsAndAccumulation) {
  Trained plain(two_dense_graph(), 3, kNever);
  for (const std::uint32_t seed : {1, 2}) plain.train(9, seed);
  ASSERT_FALSE(plain.hands_on());
  {
    Trained graphs(two_dense_graph(), 3, 0, 1, true);
    for (const std::uint32_t seed : {1, 2}) graphs.train(9, seed);
    EXPECT_FALSE(graphs.hands_on());
    EXPECT_EQ(graphs.weights(), plain.weights());
  }
  {
    Tracer tracer;
    Trained traced(two_dense_graph(), 3, 0, 1, false, &tracer);
    traced.train(9, 1);
    EXPECT_FALSE(traced.hands_on());
    traced.step.set_tracer(nullptr);  // and from step to step
    traced.train(9, 2);
    EXPECT_EQ(traced.weights(), plain.weights());
  }
  {
    Trained some(two_dense_graph(), 3, 0, 2), others(two_dense_graph(), 3, kNever, 2);
    for (const std::uint32_t seed : {1, 2, 3, 4}) some.train(9, seed), others.train(9, seed);
    EXPECT_FALSE(some.hands_on());
    EXPECT_EQ(some.weights(), others.weights());
  }
}

TEST(HandedOnSums, EndWhereCopiesAreCompared) {
  Trained whole(two_dense_graph(), 3, 0), checked(two_dense_graph(), 3, 0);
  for (Trained* run : {&whole, &checked}) run->train(9, 1);
  checked.step.set_check_mirrored(true);
  for (Trained* run : {&whole, &checked}) run->train(9, 2);
  EXPECT_FALSE(checked.hands_on());
  EXPECT_EQ(checked.weights(), whole.weights());
}

TEST(HandedOnSums, KeepTheOrderWhoeverComesFirst) {
  constexpr int kReplicas = 5;
  const Gpus gpus = logical_gpus(kReplicas);
  const Buffer memory = gpus.pointers[0]->arena().allocate(64, "a sum");
  std::vector<Tensor> sums(1);
  sums[0] = Tensor(memory.raw(), {4});
  HandedOnSums handed_on(sums, std::vector<int>(kReplicas, gpus.pointers[0]->physical()));
  for (int round = 0; round < 50; ++round) {
    handed_on.begin();
    std::vector<int> order;
    std::vector<std::thread> threads;
    for (int r = kReplicas - 1; r >= 0; --r) {
      threads.emplace_back([&, r] {
        Stream& stream = gpus.pointers[static_cast<std::size_t>(r)]->compute();
        EXPECT_EQ(handed_on.take(0, r, stream, Deadline(20)).adds, r > 0);
        order.push_back(r);
        handed_on.pass_on(0, r, stream);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  }
}

TEST(HandedOnSums, NobodyWaitsForOneWhoNeverComes) {
  const Gpus gpus = logical_gpus(3);
  const Buffer memory = gpus.pointers[0]->arena().allocate(64, "a sum");
  HandedOnSums handed_on({Tensor(memory.raw(), {4})}, std::vector<int>(3, gpus.pointers[0]->physical()));
  handed_on.begin();
  EXPECT_THROW(handed_on.take(0, 1, gpus.pointers[1]->compute(), Deadline(0.01)), GaveUp);
  std::thread other([&] { EXPECT_THROW(handed_on.take(0, 2, gpus.pointers[2]->compute(), Deadline(20)), GaveUp); });
  handed_on.stop();
  other.join();
  handed_on.begin();  // the next step is a new one
  EXPECT_FALSE(handed_on.take(0, 0, gpus.pointers[0]->compute(), Deadline(20)).adds);
}

}  // namespace
}  // namespace lockstep
