// Every layer over random shapes: forward against nested loops in double, every gradient against central differences of those.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

using Reference = std::function<Doubles(const std::vector<Doubles>& variables)>;  // [0] is the layer's input

double worst_error(const Values& got, const Doubles& want) {
  double scale = 1e-3, worst = got.size() == want.size() ? 0 : 1e30;
  for (const double w : want) scale = std::max(scale, std::fabs(w));
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    const double error = std::fabs(got[i] - want[i]) / scale;
    worst = error <= worst ? worst : error;  // a NaN counts as worst
    if (std::isnan(error)) return 1e30;
  }
  return worst;
}

// Runs the layers behind a probe, so that their input is a variable too, and holds all results against the reference.
void check(const std::vector<Layer>& layers, const Shape& sample, std::int64_t batch, const Reference& reference, std::mt19937& random,
           double tolerance = 2e-5) {
  std::vector<std::shared_ptr<LayerImpl>> chain = impls(layers);
  chain.insert(chain.begin(), make_probe(batch, sample));
  Runner runner(Graph::chain(chain, Shape{1}), batch);
  runner.randomize(random);
  runner.poison();
  std::vector<Doubles> variables;
  for (std::size_t i = 0; i < runner.graph.layout().specs().size(); ++i) variables.push_back(doubles(runner.variable(static_cast<int>(i))));

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
    const Values all = runner.gradient(static_cast<int>(v));
    Values got;
    Doubles slopes;
    for (int k = 0; k < 24; ++k) {
      const std::size_t element = std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random);
      got.push_back(all[element]);
      slopes.push_back(slope(weighted, variables, v, element));
    }
    EXPECT_LT(worst_error(got, slopes), tolerance) << "gradient of " << runner.graph.layout().specs()[v].name;
  }
}

int pick(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

std::string activation_of(int k) { return k == 0 ? "" : (k == 1 ? "relu" : "softmax"); }

Doubles activate(int k, Doubles y, std::int64_t classes) {
  return k == 0 ? y : (k == 1 ? relu(std::move(y)) : softmax(std::move(y), classes));
}

TEST(Conv2D, EqualsNestedLoopsOverRandomShapes) {
  std::mt19937 random(10);
  for (int round = 0; round < 40; ++round) {
    Window w;
    w.kernel_h = pick(random, 1, 4), w.kernel_w = pick(random, 1, 4);
    w.same = pick(random, 0, 1) == 1;
    if (round % 3 == 1) w.stride_h = pick(random, 1, 3), w.stride_w = pick(random, 1, 3);
    if (round % 3 == 2) w.dilation_h = pick(random, 1, 2), w.dilation_w = pick(random, 1, 2);
    const Shape sample{pick(random, 7, 11), pick(random, 7, 11), pick(random, 1, 5)};
    const int batch = pick(random, 1, 4), filters = pick(random, 1, 6), activation = round % 4 == 3 ? 2 : round % 2;
    const bool bias = pick(random, 0, 3) != 0;
    Conv2D layer(filters, {w.kernel_h, w.kernel_w}, activation_of(activation));
    layer.strides({w.stride_h, w.stride_w}).dilation_rate({w.dilation_h, w.dilation_w}).padding(w.same ? "same" : "valid").use_bias(bias);
    SCOPED_TRACE("round " + std::to_string(round) + " sample " + sample.str() + " batch " + std::to_string(batch));
    check(
        {layer}, sample, batch,
        [&](const std::vector<Doubles>& v) {
          return activate(activation, conv2d(v[0], sample.batched(batch), v[1], filters, bias ? v[2] : Doubles(), w), filters);
        },
        random);
  }
}

TEST(MaxPooling2D, EqualsNestedLoopsOverRandomShapes) {
  std::mt19937 random(11);
  for (int round = 0; round < 30; ++round) {
    Window w;
    w.kernel_h = pick(random, 1, 3), w.kernel_w = pick(random, 1, 3);
    w.stride_h = pick(random, 1, 3), w.stride_w = pick(random, 1, 3);  // overlapping windows, and gaps between them
    w.same = pick(random, 0, 1) == 1;
    const Shape sample{pick(random, 3, 9), pick(random, 3, 9), pick(random, 1, 5)};
    const int batch = pick(random, 1, 4);
    MaxPooling2D layer({w.kernel_h, w.kernel_w});
    layer.strides({w.stride_h, w.stride_w}).padding(w.same ? "same" : "valid");
    SCOPED_TRACE("round " + std::to_string(round) + " sample " + sample.str());
    check(
        {layer}, sample, batch, [&](const std::vector<Doubles>& v) { return max_pooling2d(v[0], sample.batched(batch), w); }, random);
  }
}

TEST(Dense, EqualsNestedLoopsOverRandomShapes) {
  std::mt19937 random(12);
  for (int round = 0; round < 30; ++round) {
    const int in = pick(random, 1, 40), units = pick(random, 1, 30), batch = pick(random, 1, 7), activation = round % 3;
    const bool bias = pick(random, 0, 3) != 0;
    const Shape sample = round % 5 == 0 ? Shape{pick(random, 1, 4), in} : Shape{in};  // any axes before the last are rows
    SCOPED_TRACE("round " + std::to_string(round) + " sample " + sample.str() + " units " + std::to_string(units));
    check(
        {Dense(units, activation_of(activation)).use_bias(bias)}, sample, batch,
        [&](const std::vector<Doubles>& v) { return activate(activation, dense(v[0], in, v[1], units, bias ? v[2] : Doubles()), units); },
        random);
  }
}

TEST(ReLU, StandsAloneBehindAnyLayer) {
  std::mt19937 random(13);
  check(
      {ReLU()}, Shape{5, 3}, 4, [](const std::vector<Doubles>& v) { return relu(v[0]); }, random);
  check(
      {Dense(6), ReLU()}, Shape{5}, 4, [](const std::vector<Doubles>& v) { return relu(dense(v[0], 5, v[1], 6, v[2])); }, random);
  // Behind a layer whose backward reads its own output it may not write over that output.
  check(
      {Dense(6, "relu"), Dense(6), ReLU(), Flatten(), ReLU(), Dense(2)}, Shape{5}, 3,
      [](const std::vector<Doubles>& v) {
        return dense(relu(dense(relu(dense(v[0], 5, v[1], 6, v[2])), 6, v[3], 6, v[4])), 6, v[5], 2, v[6]);
      },
      random);
}

TEST(Softmax, StandsAloneAndInTheMiddle) {
  std::mt19937 random(14);
  check(
      {Softmax()}, Shape{7}, 3, [](const std::vector<Doubles>& v) { return softmax(v[0], 7); }, random);
  check(
      {Dense(4, "softmax"), Dense(3)}, Shape{5}, 3,
      [](const std::vector<Doubles>& v) { return dense(softmax(dense(v[0], 5, v[1], 4, v[2]), 4), 4, v[3], 3, v[4]); }, random);
  // Backward of the layer before it reads that layer's output, so the softmax may not write over it.
  check(
      {Dense(4, "relu"), Softmax(), Dense(3)}, Shape{5}, 3,
      [](const std::vector<Doubles>& v) { return dense(softmax(relu(dense(v[0], 5, v[1], 4, v[2])), 4), 4, v[3], 3, v[4]); }, random);
  check(
      {Dense(4), Softmax(), Softmax()}, Shape{5}, 3,
      [](const std::vector<Doubles>& v) { return softmax(softmax(dense(v[0], 5, v[1], 4, v[2]), 4), 4); }, random);
}

TEST(Flatten, MovesNothing) {
  std::mt19937 random(15);
  check(
      {Flatten()}, Shape{3, 4, 2}, 2, [](const std::vector<Doubles>& v) { return v[0]; }, random, 1e-8);
}

}  // namespace
}  // namespace lockstep::test
