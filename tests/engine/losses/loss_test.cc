// Losses and metrics: values, gradients, which scores they look at, and what they say about wrong labels.
#include "engine/losses/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/metrics/metric.h"
#include "lockstep/error.h"
#include "lockstep/losses.h"
#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

using Labels = std::vector<std::int32_t>;

// A model whose output is what the test says: a probe, with a softmax behind it or not.
struct Fixture {
  Fixture(std::int64_t batch, std::int64_t classes, bool softmax)
      : runner(graph(batch, classes, softmax), batch), memory(runner.gpu.arena().allocate(4096, "labels, losses and sums")) {}

  static Graph graph(std::int64_t batch, std::int64_t classes, bool softmax) {
    std::vector<std::shared_ptr<LayerImpl>> layers{make_probe(batch, Shape{classes})};
    if (softmax) layers.push_back(Softmax().impl());
    return Graph::chain(layers, Shape{1});
  }
  Tensor labels(std::int64_t n) const { return {memory.raw(), Shape{n}, DType::int32}; }
  Tensor losses(std::int64_t n) const { return {memory.data<char>() + 1024, Shape{n}}; }
  double* sums() const { return reinterpret_cast<double*>(memory.data<char>() + 2048); }

  Values run(const Loss& loss, const Values& scores, const Labels& y, std::int64_t global_batch, bool training = true) {
    const auto n = static_cast<std::int64_t>(y.size());
    runner.variables.write(0, Array(runner.graph.layout().specs()[0].shape, scores));
    runner.forward(Values(y.size()));
    runner.write(labels(n), y.data());
    loss.impl()->run(runner.context(), runner.program, labels(n), global_batch, losses(n), training);
    Values values = runner.read(losses(n));
    if (training) {
      runner.program.backward(runner.info, loss.impl()->from_logits(runner.program), nullptr);
      runner.gpu.compute().synchronize();
    }
    return values;
  }

  Runner runner;
  Buffer memory;
};

const Loss kLogits = SparseCategoricalCrossentropy().from_logits();
const Loss kProbabilities = SparseCategoricalCrossentropy();

TEST(SparseCategoricalCrossentropy, ValuesAndGradientsEqualTheReference) {
  std::mt19937 random(30);
  for (int round = 0; round < 20; ++round) {
    const auto batch = std::uniform_int_distribution<std::int64_t>(1, 9)(random),
               classes = std::uniform_int_distribution<std::int64_t>(2, 50)(random);
    const bool softmax_output = round % 2 == 1;
    const Values scores = random_values(batch * classes, random, -20, 20);
    Labels y;
    for (std::int64_t i = 0; i < batch; ++i)
      y.push_back(std::uniform_int_distribution<std::int32_t>(0, static_cast<std::int32_t>(classes) - 1)(random));
    const std::int64_t global = batch + 3;
    Fixture fixture(batch, classes, softmax_output);
    const Values losses = fixture.run(softmax_output ? kProbabilities : kLogits, scores, y, global);
    const Values gradient = fixture.runner.gradient(0);
    const Doubles p = softmax(doubles(scores), classes);
    for (std::int64_t i = 0; i < batch; ++i) {
      const auto label = static_cast<std::size_t>(i * classes + y[static_cast<std::size_t>(i)]);
      const double want = -std::log(p[label]);
      EXPECT_NEAR(losses[static_cast<std::size_t>(i)], want, 1e-5 * std::max(1.0, want));
      for (auto k = static_cast<std::size_t>(i * classes); k < static_cast<std::size_t>((i + 1) * classes); ++k)
        EXPECT_NEAR(gradient[k], (p[k] - (k == label ? 1 : 0)) / static_cast<double>(global), 1e-6);
    }
  }
}

// A true label with probability 1e-20: clipping would answer 16.1 and a gradient of nearly nothing.
TEST(SparseCategoricalCrossentropy, BehindASoftmaxNothingIsClipped) {
  for (const Loss& loss : {kProbabilities, kLogits}) {
    Fixture fixture(1, 2, true);
    testing::internal::CaptureStderr();
    EXPECT_NEAR(fixture.run(loss, {0, 46}, {0}, 1)[0], 46, 1e-4);
    testing::internal::GetCapturedStderr();
    EXPECT_NEAR(fixture.runner.gradient(0)[0], -1, 1e-6);
  }
}

TEST(SparseCategoricalCrossentropy, OtherProbabilitiesAreClippedAsInKeras) {
  Fixture fixture(3, 2, false);
  const Values losses = fixture.run(kProbabilities, {0.25F, 0.75F, 0.0F, 1.0F, 1.0F, 0.0F}, {0, 0, 0}, 3);
  EXPECT_NEAR(losses[0], -std::log(0.25), 1e-6);
  EXPECT_NEAR(losses[1], -std::log(1e-7), 1e-3);
  EXPECT_NEAR(losses[2], 0, 1e-6);
}

TEST(SparseCategoricalCrossentropy, WarnsOnceWhenToldLogitsBehindASoftmax) {
  Fixture with(1, 3, true), without(1, 3, false);
  const Loss loss = SparseCategoricalCrossentropy().from_logits();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(loss.impl()->from_logits(without.runner.program));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loss.impl()->from_logits(with.runner.program));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("ends in a softmax"), std::string::npos);
  EXPECT_EQ(said.find("Warning"), said.rfind("Warning"));
  testing::internal::CaptureStderr();
  EXPECT_TRUE(kProbabilities.impl()->from_logits(with.runner.program));
  EXPECT_FALSE(kProbabilities.impl()->from_logits(without.runner.program));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(SparseCategoricalCrossentropy, EvaluationWritesNoGradient) {
  Fixture fixture(2, 3, false);
  Runner& runner = fixture.runner;
  const Tensor labels = fixture.labels(2), losses = fixture.losses(2), to = runner.program.logits_gradient();
  runner.forward(Values(2));
  const Labels y{0, 1};
  runner.write(labels, y.data());
  const Values sevens(6, 7.0F);
  runner.write(to, sevens.data());
  kLogits.impl()->run(runner.context(), runner.program, labels, 2, losses, false);
  EXPECT_EQ(runner.read(to), sevens);
  kLogits.impl()->run(runner.context(), runner.program, labels, 2, losses, true);
  EXPECT_NE(runner.read(to), sevens);
}

TEST(SparseCategoricalCrossentropy, WrongLabelsAreNamed) {
  const auto complaint = [](const Array& labels, const Shape& output) -> std::string {
    try {
      kLogits.impl()->check_labels(labels, output);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(Array(Shape{3}, Labels{0, 9, 5}), {10}), "");
  EXPECT_EQ(complaint(Array(Shape{3, 1}, Labels{0, 9, 5}), {10}), "");
  EXPECT_EQ(complaint(Array(Shape{3}, Labels{0, 10, 5}), {10}), "Label 10 of sample 1 is outside 0 ... 9: the model has 10 classes");
  EXPECT_EQ(complaint(Array(Shape{3}, Labels{0, 1, -1}), {10}), "Label -1 of sample 2 is outside 0 ... 9: the model has 10 classes");
  EXPECT_NE(complaint(Array(Shape{3}, Values{0, 1, 2}), {10}).find("integer labels"), std::string::npos);
  EXPECT_NE(complaint(Array(Shape{1, 3}, Labels{0, 1, 2}), {10}).find("(1, 3)"), std::string::npos);
  EXPECT_NE(complaint(Array(Shape{3}, Labels{0, 1, 2}), {4, 10}).find("(4, 10)"), std::string::npos);
}

TEST(Loss, NamesMakeLossesAndUnknownOnesListTheKnown) {
  EXPECT_EQ(Loss("sparse_categorical_crossentropy").name(), "sparse_categorical_crossentropy");
  try {
    const Loss loss("hinge");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sparse_categorical_crossentropy"), std::string::npos);
  }
}

TEST(Metric, AccuracyCountsAndAddsUp) {
  Fixture fixture(4, 3, true);
  const auto accuracy = make_metric("accuracy");
  EXPECT_EQ(accuracy->name(), "accuracy");
  const double zeros[2] = {0, 0};
  fixture.runner.write(Tensor(fixture.sums(), Shape{4}), zeros);
  const Values scores{5, 1, 2, 0, 1, 0, 3, 3, 0, 1, 2, 9};  // largest at 0, 1, 0 (first of a tie), 2
  for (const Labels& y : {Labels{0, 1, 0, 2}, Labels{0, 1, 1, 0}}) {
    fixture.run(kProbabilities, scores, y, 4, false);
    accuracy->add(fixture.runner.context(), fixture.runner.program, fixture.labels(4), Tensor(), fixture.sums(), 1);
  }
  const Values raw = fixture.runner.read(Tensor(fixture.sums(), Shape{4}));
  double sums[2];
  std::memcpy(sums, raw.data(), sizeof(sums));
  EXPECT_EQ(sums[0], 0);
  EXPECT_EQ(sums[1], 4 + 2);
}

TEST(Metric, KeepsTheNameItWasAskedForBy) {
  EXPECT_EQ(make_metric("sparse_categorical_accuracy")->name(), "sparse_categorical_accuracy");
  EXPECT_THROW(make_metric("precision"), Error);
}

}  // namespace
}  // namespace lockstep::test
