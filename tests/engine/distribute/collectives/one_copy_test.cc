// Replicas of one card that share weights and slots: the bits of replicas with copies, less memory, and nothing to compare.
#include "engine/distribute/collectives/one_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/distribute/step/mirrored_step.h"
#include "engine/ops/elementwise.h"
#include "engine/optim/adam.h"
#include "engine/optim/nadam.h"
#include "lockstep/error.h"
#include "lockstep/layers.h"
#include "lockstep/sequence_layers.h"
#include "tests/engine/distribute/collectives/support/reduction_bench.h"
#include "tests/engine/distribute/support/gpus.h"
#include "tests/engine/distribute/support/model.h"
#include "tests/support/error_of.h"

namespace lockstep {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): GPUs and models made for these tests

Graph chain(const std::vector<Layer>& layers, const Shape& input) {
  std::vector<std::shared_ptr<LayerImpl>> parts;
  for (const Layer& layer : layers) parts.push_back(layer.impl());
  return Graph::chain(parts, input);
}

Graph words_graph() { return chain({Embedding(50, 7), Flatten(), Dense(5)}, {6}); }
Graph normalised_graph() { return chain({Conv2D(4, 3, "relu"), BatchNormalization(), Flatten(), Dropout(0.3F), Dense(3)}, {6, 6, 1}); }

Array words(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Array x({n, 6}, DType::int32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<std::int32_t>()[i] = static_cast<std::int32_t>(random() % 50);
  return x;
}

struct OneCard : ReadyStep {
  OneCard(const Graph& graph, int replicas, const std::string& algorithm, bool check_mirrored = false,
          SparseGradients sparse = SparseGradients::automatic)
      : ReadyStep(graph, logical_gpus(replicas), algorithm, options(check_mirrored, sparse),
                  std::make_shared<NadamImpl>(1e-2F, 0.9F, 0.999F, 1e-7F)) {
    step.replicate();
  }
  static StepOptions options(bool check_mirrored, SparseGradients sparse) {
    StepOptions options;
    options.check_mirrored = check_mirrored;
    options.first_bucket_bytes = 256;  // several buckets also in a small model
    options.bucket_bytes = 512;
    options.sparse_gradients = sparse;
    return options;
  }
  // Weights, slots and state of a replica.
  std::vector<float> all(int replica) {
    Replica& here = step.replica(replica);
    std::vector<float> values = download(here, here.variables().weights());
    const auto append = [&](const Tensor& more) {
      const std::vector<float> one = download(here, more);
      values.insert(values.end(), one.begin(), one.end());
    };
    for (int k = 0; k < here.variables().slots(); ++k) append(here.variables().slot(k));
    if (here.variables().layout().state_elements() > 0) append(here.variables().state());
    return values;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_same_training(const Graph& graph, const std::function<Array(std::int64_t, std::uint32_t)>& samples, int classes,
                          SparseGradients sparse = SparseGradients::automatic) {
  for (const int replicas : {2, 3, 5, 8}) {
    OneCard copies(graph, replicas, "one-device", true, sparse), shared(graph, replicas, "one-copy", false, sparse);
    ASSERT_TRUE(shared.step.one_copy());
    ASSERT_FALSE(copies.step.one_copy());
    const std::vector<float> before = shared.all(0);
    std::uint32_t seed = 1;
    for (const std::int64_t batch : {16, 7, 16, 3, 1}) {  // uneven, and smaller than the number of replicas
      for (OneCard* run : {&copies, &shared}) run->step.train(samples(batch, seed), labels(batch, classes, seed));
      ++seed;
    }
    ASSERT_FALSE(same_bits(before, shared.all(0))) << "nothing was learnt: the comparison would be empty";
    for (int r = 0; r < replicas; ++r) EXPECT_TRUE(same_bits(shared.all(r), copies.all(r))) << replicas << " replicas, replica " << r;
    EXPECT_EQ(shared.step.totals().sums, copies.step.totals().sums);
  }
}

TEST(OneCopy, TrainsToTheBitsOfCopies) {
  expect_same_training(
      small_graph(),
      [](std::int64_t n, std::uint32_t seed) {
        return random_samples({6, 6, 1}, n, seed);
      },
      3);
}

TEST(OneCopy, KeepsStatisticsAndDropoutOfEachReplica) {
  expect_same_training(
      normalised_graph(),
      [](std::int64_t n, std::uint32_t seed) {
        return random_samples({6, 6, 1}, n, seed);
      },
      3);
}

TEST(OneCopy, SumsRowsOfAnEmbedding) {
  for (const SparseGradients how : {SparseGradients::gathered, SparseGradients::dense}) expect_same_training(words_graph(), words, 5, how);
}

TEST(OneCopy, IsThereOnce) {
  const auto used = [](const std::string& algorithm) {  // on every replica
    const OneCard trained(mnist_graph(), 4, algorithm);
    std::vector<std::size_t> bytes;
    for (LogicalGpu* gpu : trained.gpus.pointers) bytes.push_back(gpu->arena().used());
    return bytes;
  };
  const std::vector<std::size_t> copies = used("one-device"), shared = used("one-copy");
  const std::size_t variables = 3 * 693962 * sizeof(float);  // weights and two slots
  for (std::size_t r = 1; r < 4; ++r) EXPECT_LE(shared[r] + variables, copies[r]) << "replica " << r;
  EXPECT_EQ(shared[0], copies[0]);
}

TEST(OneCopy, HasNothingToCompare) {
  OneCard run(small_graph(), 3, "one-copy");
  EXPECT_EQ(run.step.checksums().size(), 1U);
  EXPECT_EQ(OneCard(small_graph(), 3, "one-device").step.checksums().size(), 3U);
  for (const std::string& text :
       {error_of([&] { run.step.set_check_mirrored(true); }), error_of([] { const OneCard checked(small_graph(), 3, "one-copy", true); })})
    EXPECT_NE(text.find("one shared copy: nothing to compare"), std::string::npos) << text;
  EXPECT_TRUE(run.step.one_copy());
  run.step.set_check_mirrored(false);
}

TEST(OneCopy, IsRefusedOnSeveralCards) {
  const Gpus cards = whole_cards(2);
  if (cards.pointers.empty()) GTEST_SKIP() << "fewer cards here";
  try {
    make_cross_device_ops("one-copy")->prepare(cards.pointers, 10);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("one card"), std::string::npos) << error.what();
  }
}

// Counts what is delivered, and from how many.
struct Counting : MessageWatcher {
  void begin(const Message& message, const Stream& /*stream*/, const Tensor& /*place*/) override {
    ++begun;
    senders += static_cast<int>(message.from.size());
  }
  void end(const Message& /*message*/, const Stream& /*stream*/, const Tensor& /*place*/) override { ++ended; }
  int begun = 0, ended = 0, senders = 0;
};

TEST(OneCopy, AddsInTheOrderOfTheReplicasWatchedOrNot) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int replicas = 2; replicas <= 8; ++replicas) {
    Bench bench("one-copy", logical_gpus(replicas), 1000);
    std::vector<std::vector<float>> values(bench.replicas(), std::vector<float>(997));
    for (auto& one : values)
      for (float& value : one) value = normal(random);
    std::vector<float> expected = values[0];
    for (std::size_t r = 1; r < values.size(); ++r)
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += values[r][i];
    Counting counting;
    for (MessageWatcher* watcher : {static_cast<MessageWatcher*>(nullptr), static_cast<MessageWatcher*>(&counting)}) {
      for (std::size_t r = 0; r < bench.replicas(); ++r) ops::upload(bench.context(r), values[r].data(), bench.buffer(r, 997));
      bench.ops().watch(watcher);
      EXPECT_EQ(bench.ops().reduce(bench.participants(997)).messages, replicas - 1);
      bench.ops().watch(nullptr);
      std::vector<float> found(997);
      ops::download(bench.context(0), bench.buffer(0, 997), found.data());
      bench.context(0).stream->synchronize();
      EXPECT_TRUE(same_bits(found, expected)) << replicas << (watcher != nullptr ? ", watched" : "");
    }
    EXPECT_EQ(counting.begun, 1) << "one kernel adds all";
    EXPECT_EQ(counting.ended, 1);
    EXPECT_EQ(counting.senders, replicas - 1);
  }
}

TEST(OneCopy, SendsHalfAsMuchAndLeavesTheOthersBuffersFree) {
  for (int replicas = 1; replicas <= 8; ++replicas) {
    Bench bench("one-copy", logical_gpus(replicas), 1000);
    const auto values = integers(bench.replicas(), 1000, 7);
    for (std::size_t r = 0; r < bench.replicas(); ++r) ops::upload(bench.context(r), values[r].data(), bench.buffer(r, 1000));
    const Traffic traffic = bench.ops().reduce(bench.participants(1000));
    EXPECT_EQ(traffic.messages, replicas - 1);
    EXPECT_EQ(traffic.bytes, (replicas - 1) * 4000);
    for (std::size_t r = 1; r < bench.replicas(); ++r) ops::fill(bench.context(r), NAN, bench.buffer(r, 1000));
    std::vector<float> found(1000);
    ops::download(bench.context(0), bench.buffer(0, 1000), found.data());
    bench.context(0).stream->synchronize();
    for (std::size_t i = 0; i < found.size(); ++i) {
      float sum = 0;
      for (const auto& one : values) sum += one[i];
      ASSERT_EQ(found[i], sum) << replicas << " replicas, element " << i;
    }
  }
}

}  // namespace
}  // namespace lockstep
