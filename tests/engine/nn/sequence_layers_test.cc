// Embedding against plain loops; Conv1D and MaxPooling1D against the 2-D layers (which have tests of their own) on images one pixel high.
#include "lockstep/sequence_layers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/nn/embedding.h"
#include "lockstep/error.h"
#include "tests/engine/nn/support/runner.h"
#include "tests/support/error_of.h"

namespace lockstep::test {
namespace {

Shape image(const Shape& sequence) { return Shape{1, sequence[0], sequence[1]}; }

TEST(Embedding, LooksUpRowsAndSumsTheirGradients) {
  std::mt19937 random(5);
  for (int round = 0; round < 6; ++round) {
    const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const int rows = between(1, 700), columns = between(1, 9), steps = between(1, 12), batch = between(1, 5);
    Runner runner({Embedding(rows, columns)}, Shape{steps}, batch);
    EXPECT_EQ(runner.program.input().dtype(), DType::int32);
    EXPECT_EQ(runner.graph.output(), Shape({steps, columns}));
    runner.randomize(random);
    runner.variables.make_squares(true);
    runner.poison();
    std::vector<std::int32_t> ids(static_cast<std::size_t>(steps * batch));
    for (auto& id : ids) id = between(0, std::min(rows - 1, 20)) * (rows > 600 ? 33 : 1);  // repeats, and rows in all ranges
    runner.write(runner.program.input(), ids.data());
    runner.program.forward(runner.info);
    const Values y = runner.read(runner.program.output());
    const Values table = runner.variable(0);
    const Values upstream = random_values(static_cast<std::int64_t>(y.size()), random);
    runner.backward(upstream);
    EXPECT_EQ(runner.finished, std::vector<int>{0});
    std::vector<double> sums(table.size()), squares(table.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (int c = 0; c < columns; ++c) {
        const std::size_t at = static_cast<std::size_t>(ids[i] * columns + c),
                          from = i * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c);
        ASSERT_EQ(y[from], table[at]);
        sums[at] += upstream[from];
        squares[at] += static_cast<double>(upstream[from]) * upstream[from];
      }
    }
    const Values gradient = runner.gradient(0), second = runner.read(runner.variables.squares(0));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(gradient[i], sums[i], 1e-5) << i;
      ASSERT_NEAR(second[i], squares[i], 1e-5) << i;
    }
  }
}

TEST(Embedding, StartsAsKerasDoes) {
  const Runner runner({Embedding(500, 4)}, Shape{3}, 1);
  const VariableSpec& spec = runner.graph.layout().specs().at(0);
  EXPECT_EQ(spec.name, "embedding/embeddings");
  float largest = 0;
  for (const float value : spec.initializer.values(spec.shape, 1, 0)) largest = std::max(largest, std::fabs(value));
  EXPECT_LE(largest, 0.05F);
  EXPECT_GT(largest, 0.045F);
}

TEST(Embedding, NumbersOutsideTheTableAreNamed) {
  const EmbeddingImpl layer(10, 2);
  const std::string sentence = error_of([&] { layer.check_samples(Array(Shape{2, 3}, std::vector<std::int32_t>{0, 9, 1, 2, 10, 3})); });
  EXPECT_NE(sentence.find("sample 1 holds the number 10"), std::string::npos) << sentence;
  EXPECT_NE(error_of([&] { layer.check_samples(Array(Shape{1, 1}, std::vector<std::int32_t>{-1})); }), "");
  EXPECT_EQ(error_of([&] { layer.check_samples(Array(Shape{1, 2}, std::vector<std::int32_t>{0, 9})); }), "");
}

// Both models get the same weights, input and upstream gradient; everything that comes out must be the same bits.
void expect_same(const std::vector<Layer>& flat, const std::vector<Layer>& images, const Shape& sample, std::int64_t batch,
                 std::mt19937& random) {
  const auto with_probe = [&](const std::vector<Layer>& layers, const Shape& shape) {
    auto chain = impls(layers);
    chain.insert(chain.begin(), make_probe(batch, shape));
    return Graph::chain(chain, Shape{1});
  };
  Runner one(with_probe(flat, sample), batch), two(with_probe(images, image(sample)), batch);
  ASSERT_EQ(one.graph.layout().specs().size(), two.graph.layout().specs().size());
  EXPECT_EQ(image(one.graph.output()), two.graph.output());
  one.randomize(random);
  for (int v = 0; v < static_cast<int>(one.graph.layout().specs().size()); ++v)
    two.variables.write(v, Array(two.graph.layout().specs()[static_cast<std::size_t>(v)].shape, one.variable(v)));
  const Values nothing(static_cast<std::size_t>(batch));
  const Values y = one.forward(nothing);
  EXPECT_EQ(y, two.forward(nothing));
  const Values upstream = random_values(static_cast<std::int64_t>(y.size()), random);
  one.backward(upstream);
  two.backward(upstream);
  for (int v = 0; v < static_cast<int>(one.graph.layout().specs().size()); ++v) EXPECT_EQ(one.gradient(v), two.gradient(v)) << v;
}

TEST(Conv1D, IsConv2DOnAnImageOnePixelHigh) {
  std::mt19937 random(6);
  const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 8; ++round) {
    const int filters = between(1, 6), window = between(1, 4), stride = between(1, 3);
    const bool same = between(0, 1) != 0, bias = between(0, 1) != 0;
    const std::string padding = same ? "same" : "valid", activation = between(0, 1) != 0 ? "relu" : "";
    expect_same({Conv1D(filters, window, activation).strides(stride).padding(padding).use_bias(bias)},
                {Conv2D(filters, {1, window}, activation).strides({1, stride}).padding(padding).use_bias(bias)},
                Shape{between(4, 20), between(1, 5)}, between(1, 3), random);
  }
  expect_same({Conv1D(3, 3).dilation_rate(2)}, {Conv2D(3, {1, 3}).dilation_rate({1, 2})}, Shape{11, 2}, 2, random);
}

TEST(MaxPooling1D, IsMaxPooling2DOnAnImageOnePixelHigh) {
  std::mt19937 random(7);
  for (const char* padding : {"valid", "same"}) {
    expect_same({MaxPooling1D(2).padding(padding)}, {MaxPooling2D({1, 2}).padding(padding)}, Shape{9, 3}, 2, random);
    expect_same({MaxPooling1D(3).strides(2).padding(padding)}, {MaxPooling2D({1, 3}).strides({1, 2}).padding(padding)}, Shape{10, 2}, 3,
                random);
  }
}

TEST(SequenceLayers, KnowTheirShapesNamesAndRefusals) {
  const Graph graph = Graph::chain(impls({Embedding(30982, 7), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"),
                                          MaxPooling1D(2), Flatten(), Dense(46, "softmax")}),
                                   Shape{300});
  EXPECT_EQ(graph.layout().parameters(), 332856);
  EXPECT_EQ(graph.layout().specs()[1].name, "conv1d/kernel");
  EXPECT_EQ(graph.layout().specs()[1].shape, Shape({5, 7, 64}));
  EXPECT_EQ(graph.nodes()[2].layer->name(), "max_pooling1d");
  EXPECT_EQ(graph.input_type(), DType::int32);
  EXPECT_NE(error_of([] { Graph::chain(impls({Conv1D(3, 5)}), Shape{4, 2}); }).find("Conv1D"), std::string::npos);
  EXPECT_NE(error_of([] { Graph::chain(impls({Conv1D(3, 5)}), Shape{28, 28, 1}); }).find("(steps, channels)"), std::string::npos);
  EXPECT_NE(error_of([] { Graph::chain(impls({MaxPooling1D(5)}), Shape{4, 2}); }).find("MaxPooling1D"), std::string::npos);
  EXPECT_NE(error_of([] { Graph::chain(impls({Embedding(0, 5)}), Shape{4}); }), "");
}

}  // namespace
}  // namespace lockstep::test
