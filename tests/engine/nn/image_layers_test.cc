// The layers of residual image networks over random shapes: forward against nested loops in double, every gradient against central
// differences of those; layers that draw against what their draws may depend on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/nn/functional.h"
#include "lockstep/error.h"
#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"
#include "tests/support/error_of.h"

namespace lockstep::test {
namespace {

using Reference = std::function<Doubles(const std::vector<Doubles>& variables)>;  // [0] is the layers' input

double worst_error(const Values& got, const Doubles& want) {
  if (got.size() != want.size()) return 1e30;
  double scale = 1e-3, worst = 0;
  for (const double w : want) scale = std::max(scale, std::fabs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - want[i]) / scale;
    if (std::isnan(error)) return 1e30;
    worst = std::max(worst, error);
  }
  return worst;
}

int pick(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

// Layers behind a probe, so that their input is a variable too. Inputs count from the probe, which is node 0.
std::vector<Node> behind_probe(const std::vector<Layer>& layers, const Shape& sample, std::int64_t batch) {
  std::vector<Node> nodes{{make_probe(batch, sample), {-1}, {}}};
  for (const Layer& layer : layers) nodes.push_back({layer.impl(), {static_cast<int>(nodes.size()) - 1}, {}});
  return nodes;
}

void check(const std::vector<Node>& nodes, std::int64_t batch, const Reference& reference, std::mt19937& random, double tolerance = 3e-5) {
  Runner runner(Graph::build(nodes, Shape{1}), batch);
  runner.randomize(random);
  runner.poison();
  const std::vector<VariableSpec>& specs = runner.graph.layout().specs();
  std::vector<Doubles> variables;
  for (std::size_t i = 0; i < specs.size(); ++i) variables.push_back(doubles(runner.variable(static_cast<int>(i))));

  const Doubles want = reference(variables);
  EXPECT_LT(worst_error(runner.forward(Values(static_cast<std::size_t>(batch))), want), tolerance) << "forward";

  const Values upstream = random_values(static_cast<std::int64_t>(want.size()), random);
  const auto weighted = [&](const std::vector<Doubles>& at) {
    const Doubles y = reference(at);
    return std::inner_product(y.begin(), y.end(), upstream.begin(), 0.0);
  };
  runner.backward(upstream);
  EXPECT_EQ(runner.finished, runner.graph.layout().ready_order());
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (!specs[v].trainable) continue;
    const Values all = runner.gradient(static_cast<int>(v));
    Values got;
    Doubles slopes;
    for (int k = 0; k < 24; ++k) {
      const std::size_t element = std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random);
      got.push_back(all[element]);
      slopes.push_back(slope(weighted, variables, v, element));
    }
    EXPECT_LT(worst_error(got, slopes), tolerance) << "gradient of " << specs[v].name;
  }
}

void check(const std::vector<Layer>& layers, const Shape& sample, std::int64_t batch, const Reference& reference, std::mt19937& random,
           double tolerance = 3e-5) {
  check(behind_probe(layers, sample, batch), batch, reference, random, tolerance);
}

// One output channel at a time through the plain convolution of the reference.
Doubles depthwise(const Doubles& x, const Shape& images, const Doubles& kernel, int multiplier, const Doubles& bias, const Window& w) {
  const std::int64_t channels = images[3], outputs = channels * multiplier;
  std::vector<Doubles> planes;
  for (std::int64_t k = 0; k < outputs; ++k) {
    const std::int64_t c = k / multiplier;
    Doubles plane, taps;
    for (std::size_t i = static_cast<std::size_t>(c); i < x.size(); i += static_cast<std::size_t>(channels)) plane.push_back(x[i]);
    for (std::size_t i = static_cast<std::size_t>(k); i < kernel.size(); i += static_cast<std::size_t>(outputs)) taps.push_back(kernel[i]);
    planes.push_back(conv2d(plane, Shape{images[0], images[1], images[2], 1}, taps, 1,
                            bias.empty() ? Doubles() : Doubles{bias[static_cast<std::size_t>(k)]}, w));
  }
  Doubles y;
  for (std::size_t p = 0; p < planes[0].size(); ++p)
    for (const Doubles& plane : planes) y.push_back(plane[p]);
  return y;
}

Doubles bounded(Doubles x, double high) {
  for (double& v : x) v = std::min(high, std::max(0.0, v));
  return x;
}

struct Statistics {
  Doubles mean, variance;
};
Statistics statistics(const Doubles& x, std::size_t channels) {
  Statistics s{Doubles(channels), Doubles(channels)};
  const double rows = static_cast<double>(x.size() / channels);
  for (std::size_t i = 0; i < x.size(); ++i) s.mean[i % channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i) s.variance[i % channels] += std::pow(x[i] - s.mean[i % channels], 2) / rows;
  return s;
}
Doubles normalise(Doubles x, const Statistics& s, const Doubles& gamma, const Doubles& beta, double epsilon) {
  const std::size_t channels = s.mean.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    x[i] = (x[i] - s.mean[c]) / std::sqrt(s.variance[c] + epsilon) * (gamma.empty() ? 1 : gamma[c]) + (beta.empty() ? 0 : beta[c]);
  }
  return x;
}

TEST(DepthwiseConv2D, EqualsNestedLoopsOverRandomShapes) {
  std::mt19937 random(20);
  for (int round = 0; round < 24; ++round) {
    Window w;
    w.kernel_h = pick(random, 1, 4), w.kernel_w = pick(random, 1, 4);
    w.same = pick(random, 0, 1) == 1;
    if (round % 3 == 1) w.stride_h = pick(random, 1, 3), w.stride_w = pick(random, 1, 3);
    if (round % 3 == 2) w.dilation_h = pick(random, 1, 2), w.dilation_w = pick(random, 1, 2);
    const Shape sample{pick(random, 7, 10), pick(random, 7, 10), pick(random, 1, 20)};
    const int batch = pick(random, 1, 3), multiplier = round % 4 == 0 ? pick(random, 2, 3) : 1;
    const bool bias = round % 2 == 0, relu_behind = round % 5 == 0;
    DepthwiseConv2D layer({w.kernel_h, w.kernel_w}, relu_behind ? "relu" : "");
    layer.strides({w.stride_h, w.stride_w}).dilation_rate({w.dilation_h, w.dilation_w}).padding(w.same ? "same" : "valid");
    layer.use_bias(bias).depth_multiplier(multiplier);
    SCOPED_TRACE("round " + std::to_string(round) + " sample " + sample.str() + " batch " + std::to_string(batch));
    check(
        {layer}, sample, batch,
        [&](const std::vector<Doubles>& v) {
          Doubles y = depthwise(v[0], sample.batched(batch), v[1], multiplier, bias ? v[2] : Doubles(), w);
          return relu_behind ? relu(std::move(y)) : y;
        },
        random);
  }
}

TEST(BatchNormalization, NormalisesWithTheBatchAloneOrWithAReluBehind) {
  std::mt19937 random(21);
  for (int round = 0; round < 16; ++round) {
    const Shape sample = round % 4 == 3 ? Shape{pick(random, 1, 9)} : Shape{pick(random, 1, 6), pick(random, 1, 6), pick(random, 1, 20)};
    const int batch = pick(random, 2, 5), behind = round % 3;
    const bool scale = pick(random, 0, 2) != 0, center = pick(random, 0, 2) != 0;
    const auto channels = static_cast<std::size_t>(sample[-1]);
    std::vector<Layer> layers{BatchNormalization().scale(scale).center(center).epsilon(0.01F)};
    if (behind == 1) layers.push_back(ReLU());
    if (behind == 2) layers.push_back(ReLU(0.5F));
    SCOPED_TRACE("round " + std::to_string(round) + " sample " + sample.str() + " batch " + std::to_string(batch));
    check(
        layers, sample, batch,
        [&](const std::vector<Doubles>& v) {
          Doubles y = normalise(v[0], statistics(v[0], channels), scale ? v[1] : Doubles(), center ? v[scale ? 2 : 1] : Doubles(), 0.01);
          return behind == 0 ? y : bounded(std::move(y), behind == 1 ? 1e30 : 0.5);
        },
        random, 2e-4);
  }
}

TEST(BatchNormalization, KeepsItsOwnOutputWhereAnotherLayerBesidesTheReluReadsIt) {
  std::mt19937 random(22);
  std::vector<Node> nodes = behind_probe({BatchNormalization().epsilon(0.01F), ReLU(0.5F)}, Shape{4, 3}, 3);
  nodes.push_back({Add().impl(), {1, 2}, {}});
  check(
      nodes, 3,
      [](const std::vector<Doubles>& v) {
        const Doubles y = normalise(v[0], statistics(v[0], 3), v[1], v[2], 0.01);
        Doubles sum = bounded(y, 0.5);
        for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i];
        return sum;
      },
      random, 2e-4);
}

TEST(BatchNormalization, MovesItsStatisticsAndInfersWithThem) {
  std::mt19937 random(23);
  const int batch = 5;
  Runner runner({BatchNormalization().momentum(0.9F), ReLU(6)}, Shape{4, 7}, batch);
  runner.randomize(random);
  runner.variables.write(3, Array(Shape{7}, random_values(7, random, 0.5F, 2)));
  std::vector<Doubles> before;
  for (int v = 0; v < 4; ++v) before.push_back(doubles(runner.variable(v)));
  EXPECT_EQ(runner.graph.layout().specs()[2].name, "batch_normalization/moving_mean");
  EXPECT_FALSE(runner.graph.layout().specs()[3].trainable);

  const Values x = random_values(batch * 28, random, -3, 5);
  Program inference(runner.graph, runner.variables, runner.workspace, batch, Mode::inference);
  EXPECT_LT(
      worst_error(runner.forward(inference, x), bounded(normalise(doubles(x), {before[2], before[3]}, before[0], before[1], 1e-3), 6)),
      1e-5);
  EXPECT_EQ(doubles(runner.variable(2)), before[2]) << "inference moves nothing";

  runner.forward(x);
  const Statistics seen = statistics(doubles(x), 7);
  for (std::size_t c = 0; c < 7; ++c) {
    EXPECT_NEAR(runner.variable(2)[c], 0.9 * before[2][c] + 0.1 * seen.mean[c], 1e-5);
    EXPECT_NEAR(runner.variable(3)[c], 0.9 * before[3][c] + 0.1 * seen.variance[c], 1e-5);
  }
}

TEST(ReLU, WithAnUpperBoundStandsAlone) {
  std::mt19937 random(24);
  check(
      {Dense(6), ReLU(0.4F), Dense(2)}, Shape{5}, 4,
      [](const std::vector<Doubles>& v) { return dense(bounded(dense(v[0], 5, v[1], 6, v[2]), 0.4F), 6, v[3], 2, v[4]); }, random);
}

struct Zeros {
  int top, bottom, left, right;
};
Zeros any_zeros(std::mt19937& random) { return {pick(random, 0, 2), pick(random, 0, 2), pick(random, 0, 2), pick(random, 0, 2)}; }
Doubles with_zeros(const Doubles& x, const Shape& images, const Zeros& zeros) {
  const int batch = static_cast<int>(images[0]), height = static_cast<int>(images[1]), width = static_cast<int>(images[2]);
  const int channels = static_cast<int>(images[3]);
  Doubles y;
  for (int n = 0; n < batch; ++n)
    for (int r = -zeros.top; r < height + zeros.bottom; ++r)
      for (int q = -zeros.left; q < width + zeros.right; ++q)
        for (int c = 0; c < channels; ++c)
          y.push_back(
              r < 0 || r >= height || q < 0 || q >= width ? 0 : x[static_cast<std::size_t>(((n * height + r) * width + q) * channels + c)]);
  return y;
}

TEST(ZeroPadding2D, PutsZerosAround) {
  std::mt19937 random(25);
  for (int round = 0; round < 6; ++round) {
    const Zeros zeros = any_zeros(random);
    const Shape sample{pick(random, 1, 5), pick(random, 1, 5), pick(random, 1, 4)};
    const int batch = pick(random, 1, 3);
    check(
        {ZeroPadding2D(zeros.top, zeros.bottom, zeros.left, zeros.right)}, sample, batch,
        [=](const std::vector<Doubles>& v) { return with_zeros(v[0], sample.batched(batch), zeros); }, random);
  }
}

TEST(ZeroPadding2D, IsSeenByADepthwiseConvolutionBehindIt) {
  std::mt19937 random(29);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Zeros zeros = any_zeros(random);
    const Shape sample{pick(random, 3, 6), pick(random, 3, 9), pick(random, 1, 20)};
    const int batch = pick(random, 1, 2);
    Window w;
    w.kernel_h = w.kernel_w = 3;
    w.stride_h = w.stride_w = pick(random, 1, 2);
    w.same = round % 4 == 3;
    DepthwiseConv2D layer(3);
    layer.strides(w.stride_h).use_bias(false).padding(w.same ? "same" : "valid");
    check(
        {ZeroPadding2D(zeros.top, zeros.bottom, zeros.left, zeros.right), layer}, sample, batch,
        [&](const std::vector<Doubles>& v) {
          const Shape bordered{batch, sample[0] + zeros.top + zeros.bottom, sample[1] + zeros.left + zeros.right, sample[2]};
          return depthwise(with_zeros(v[0], sample.batched(batch), zeros), bordered, v[1], 1, {}, w);
        },
        random);
  }
}

TEST(AveragePooling2D, CountsNoPadding) {
  std::mt19937 random(26);
  for (int round = 0; round < 12; ++round) {
    Window w;
    w.kernel_h = pick(random, 1, 3), w.kernel_w = pick(random, 1, 3), w.stride_h = pick(random, 1, 3), w.stride_w = pick(random, 1, 3);
    w.same = pick(random, 0, 1) == 1;
    const Shape sample{pick(random, 3, 9), pick(random, 3, 9), pick(random, 1, 5)};
    const int batch = pick(random, 1, 3);
    AveragePooling2D layer({w.kernel_h, w.kernel_w});
    layer.strides({w.stride_h, w.stride_w}).padding(w.same ? "same" : "valid");
    check(
        {layer}, sample, batch,
        [&](const std::vector<Doubles>& v) {
          // Sums of windows, divided by sums over an image of ones.
          const Doubles taps(static_cast<std::size_t>(w.kernel_h * w.kernel_w * sample[2]), 1);
          Doubles y = depthwise(v[0], sample.batched(batch), taps, 1, {}, w);
          const Doubles n = depthwise(Doubles(v[0].size(), 1), sample.batched(batch), taps, 1, {}, w);
          for (std::size_t i = 0; i < y.size(); ++i) y[i] /= n[i];
          return y;
        },
        random);
  }
}

TEST(GlobalAveragePooling2D, IsTheMeanOfAllPixels) {
  std::mt19937 random(27);
  for (const bool keep : {false, true})
    check(
        {GlobalAveragePooling2D().keepdims(keep)}, Shape{4, 5, 6}, 3,
        [](const std::vector<Doubles>& v) {
          Doubles y(18);
          for (std::size_t i = 0; i < v[0].size(); ++i) y[i / 120 * 6 + i % 6] += v[0][i] / 20;
          return y;
        },
        random);
}

TEST(Rescaling, AndReshapeKeepElementsInPlace) {
  std::mt19937 random(28);
  check(
      {Rescaling(0.5F, -1), Reshape({3, -1})}, Shape{4, 6}, 2,
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (double& value : y) value = value / 2 - 1;
        return y;
      },
      random);
  EXPECT_EQ(Graph::chain(impls({Reshape({3, -1})}), Shape{4, 6}).output(), (Shape{3, 8}));
  EXPECT_THROW(Graph::chain(impls({Reshape({5, -1})}), Shape{4, 6}), Error);
  EXPECT_THROW(Graph::chain(impls({Reshape({4, 5})}), Shape{4, 6}), Error);
}

TEST(Add, GradientsOfATensorThatIsReadTwiceAreAdded) {
  std::mt19937 random(29);
  const auto plus = [](Doubles a, const Doubles& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  };
  // Two residual blocks in a row, the second around a layer that writes over its gradient.
  std::vector<Node> nodes = behind_probe({Dense(5), Dense(5)}, Shape{5}, 3);
  nodes.push_back({Add().impl(), {1, 2}, {}});
  nodes.push_back({Dense(5, "relu").impl(), {3}, {}});
  nodes.push_back({Add().impl(), {4, 3}, {}});
  check(
      nodes, 3,
      [&](const std::vector<Doubles>& v) {
        const Doubles a = dense(v[0], 5, v[1], 5, v[2]);
        const Doubles b = plus(a, dense(a, 5, v[3], 5, v[4]));
        return plus(relu(dense(b, 5, v[5], 5, v[6])), b);
      },
      random);
  // The same tensor twice, and three inputs.
  nodes = behind_probe({Dense(4)}, Shape{4}, 2);
  nodes.push_back({Add().impl(), {1, 1, 0}, {}});
  check(
      nodes, 2,
      [&](const std::vector<Doubles>& v) {
        const Doubles a = dense(v[0], 4, v[1], 4, v[2]);
        return plus(plus(a, a), v[0]);
      },
      random);
}

TEST(Dropout, DrawsBySampleStepAndLayerAndGoesBackTheSameWay) {
  const int batch = 40, elements = 50;
  std::mt19937 random(30);
  const std::vector<Layer> layers{Dropout(0.25F).name("d")};
  std::vector<Node> nodes = behind_probe(layers, Shape{elements}, batch);
  Runner runner(Graph::build(nodes, Shape{1}), batch);
  runner.variables.write(0, Array(Shape{batch, elements}, Values(batch * elements, 3.0F)));
  const auto run = [&](std::int64_t first, std::uint64_t step, std::uint64_t seed) {
    runner.info.first_sample = first, runner.info.step = step, runner.info.seed = seed;
    return runner.forward(Values(batch));
  };
  const Values y = run(0, 7, 1);
  std::size_t dropped = 0;
  for (const float value : y) {
    EXPECT_TRUE(value == 0 || std::fabs(value - 4) < 1e-6) << value;
    dropped += value == 0;
  }
  EXPECT_NEAR(static_cast<double>(dropped) / (batch * elements), 0.25, 0.05);  // five standard deviations
  runner.backward(Values(batch * elements, 3.0F));
  EXPECT_EQ(runner.gradient(0), y);

  const Values later = run(10, 7, 1);  // another replica's share of the same batch: samples 10 ...
  EXPECT_TRUE(std::equal(later.begin(), later.end() - 10 * elements, y.begin() + 10 * elements));
  EXPECT_NE(run(0, 8, 1), y);
  EXPECT_NE(run(0, 7, 2), y);

  Runner still(layers, Shape{elements}, batch, Mode::inference);
  EXPECT_EQ(still.forward(Values(batch * elements, 3.0F)), Values(batch * elements, 3.0F));
}

TEST(RandomFlip, MirrorsSomeImagesAndTheirGradients) {
  const int batch = 30;
  std::mt19937 random(31);
  for (const char* mode : {"horizontal", "vertical", "horizontal_and_vertical"}) {
    std::vector<Node> nodes = behind_probe({RandomFlip(mode)}, Shape{2, 3, 2}, batch);
    Runner runner(Graph::build(nodes, Shape{1}), batch);
    const Values x = random_values(batch * 12, random);
    runner.variables.write(0, Array(Shape{batch, 2, 3, 2}, x));
    const Values y = runner.forward(Values(batch));
    std::vector<int> kinds(4);
    for (int n = 0; n < batch; ++n) {
      int found = -1;
      for (int kind = 0; kind < 4; ++kind) {
        bool same = true;
        for (int i = 0; i < 12; ++i) {
          const int r = i / 6, q = i / 2 % 3, c = i % 2;
          const int from = ((kind & 2 ? 1 - r : r) * 3 + (kind & 1 ? 2 - q : q)) * 2 + c;
          same = same && y[static_cast<std::size_t>(n * 12 + i)] == x[static_cast<std::size_t>(n * 12 + from)];
        }
        if (same) found = kind;
      }
      ASSERT_GE(found, 0) << "image " << n << " is no mirror image";
      ++kinds[static_cast<std::size_t>(found)];
    }
    EXPECT_GT(kinds[0], 0);
    EXPECT_EQ(kinds[1] > 0, std::string(mode) != "vertical");
    EXPECT_EQ(kinds[2] > 0, std::string(mode) != "horizontal");
    EXPECT_EQ(kinds[3] > 0, std::string(mode) == "horizontal_and_vertical");
    runner.backward(y);  // what was mirrored comes back as it was
    EXPECT_EQ(runner.gradient(0), x);
  }
  EXPECT_THROW(RandomFlip("diagonal"), Error);
}

TEST(Functional, LayersStandInKerasOrderAndKnowTheirInputs) {
  const Input input({4, 4, 3});
  const KerasTensor a = Conv2D(5, 1).name("a")(input);
  const KerasTensor b = Conv2D(5, 1).name("b")(a);
  const KerasTensor c = ReLU().name("c")(b);
  const KerasTensor sum = Add().name("sum")({a, c});
  EXPECT_EQ(sum.shape(), (Shape{4, 4, 5}));
  const Graph graph = Graph::build(functional_nodes(input, sum), Shape{4, 4, 3}, true);
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.layer->name());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "sum"}));
  EXPECT_EQ(graph.nodes()[3].inputs, (std::vector<int>{0, 2}));
}

TEST(Functional, WhatDoesNotFitIsSaidWhenALayerIsCalled) {
  const KerasTensor x = Input({4, 4, 3}), other = Input({4, 4, 3});
  EXPECT_NE(error_of([&] { Add()({x, Conv2D(5, 1)(x)}); }).find("(4, 4, 3)"), std::string::npos);
  EXPECT_NE(error_of([&] { Conv2D(5, 9).name("big")(x); }).find("\"big\""), std::string::npos);
  EXPECT_NE(error_of([&] { functional_nodes(x, Flatten()(other)); }).find("was not given"), std::string::npos);
  EXPECT_NE(error_of([&] { functional_nodes(Flatten()(x), Flatten()(x)); }).find("must be an Input"), std::string::npos);
  const Dense shared(3);
  const KerasTensor flat = Flatten()(x);
  EXPECT_NE(error_of([&] {
              Graph::build(functional_nodes(x, Add()({shared(flat), shared(flat)})), Shape{4, 4, 3});
            }).find("stands twice"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
