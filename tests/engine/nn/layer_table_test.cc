// Every layer there is, in one table: gradients against finite differences of the layer's own forward pass, over random shapes. (That
// forward is right is shown beside it, layer by layer, against nested loops.) A layer that is registered and not in the table fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "engine/io/layer_config.h"
#include "lockstep/sequence_layers.h"
#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

int pick(std::mt19937& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
std::string any_activation(std::mt19937& random) {
  static const char* const names[] = {"linear", "relu", "relu6", "sigmoid", "softmax", "tanh"};
  return names[pick(random, 0, 5)];
}
std::string any_padding(std::mt19937& random) { return pick(random, 0, 1) != 0 ? "same" : "valid"; }
Shape any_image(std::mt19937& random) { return Shape{pick(random, 5, 9), pick(random, 5, 9), pick(random, 1, 4)}; }

struct Case {
  Layer layer;
  Shape sample;
  int inputs = 1;  // tensors of that shape
};
using Make = std::function<Case(std::mt19937&)>;

const std::map<std::string, Make>& table() {
  static const std::map<std::string, Make> entries = {
      {"Dense",
       [](auto& r) {
         return Case{Dense(pick(r, 1, 9), any_activation(r)).use_bias(pick(r, 0, 1) != 0), Shape{pick(r, 1, 12)}};
       }},
      {"Conv2D",
       [](auto& r) {
         return Case{
             Conv2D(pick(r, 1, 4), {pick(r, 1, 3), pick(r, 1, 3)}, any_activation(r)).padding(any_padding(r)).strides(pick(r, 1, 2)),
             any_image(r)};
       }},
      {"Conv1D",
       [](auto& r) {
         return Case{Conv1D(pick(r, 1, 4), pick(r, 1, 3), any_activation(r)).padding(any_padding(r)).strides(pick(r, 1, 2)),
                     Shape{pick(r, 5, 12), pick(r, 1, 4)}};
       }},
      {"DepthwiseConv2D",
       [](auto& r) {
         return Case{DepthwiseConv2D({pick(r, 1, 3), pick(r, 1, 3)}, any_activation(r))
                         .padding(any_padding(r))
                         .strides(pick(r, 1, 2))
                         .depth_multiplier(pick(r, 1, 2)),
                     any_image(r)};
       }},
      {"MaxPooling2D",
       [](auto& r) {
         return Case{MaxPooling2D(pick(r, 1, 3)).strides(pick(r, 1, 3)).padding(any_padding(r)), any_image(r)};
       }},
      {"AveragePooling2D",
       [](auto& r) {
         return Case{AveragePooling2D(pick(r, 1, 3)).strides(pick(r, 1, 3)).padding(any_padding(r)), any_image(r)};
       }},
      {"MaxPooling1D",
       [](auto& r) {
         return Case{MaxPooling1D(pick(r, 1, 3)).padding(any_padding(r)), Shape{pick(r, 4, 12), pick(r, 1, 4)}};
       }},
      {"GlobalAveragePooling2D",
       [](auto& r) {
         return Case{GlobalAveragePooling2D().keepdims(pick(r, 0, 1) != 0), any_image(r)};
       }},
      {"GlobalMaxPooling2D",
       [](auto& r) {
         return Case{GlobalMaxPooling2D().keepdims(pick(r, 0, 1) != 0), any_image(r)};
       }},
      {"BatchNormalization",
       [](auto& r) {
         return Case{BatchNormalization().center(pick(r, 0, 1) != 0).scale(pick(r, 0, 1) != 0), any_image(r)};
       }},
      {"ZeroPadding2D",
       [](auto& r) {
         return Case{ZeroPadding2D(pick(r, 0, 2), pick(r, 0, 2), pick(r, 0, 2), pick(r, 0, 2)), any_image(r)};
       }},
      {"ReLU",
       [](auto& r) {
         return Case{pick(r, 0, 1) != 0 ? ReLU(0.7F) : ReLU(), any_image(r)};
       }},
      {"Activation",
       [](auto& r) {
         return Case{Activation(any_activation(r)), Shape{pick(r, 1, 12)}};
       }},
      {"Softmax",
       [](auto& r) {
         return Case{Softmax(), Shape{pick(r, 2, 12)}};
       }},
      {"Flatten",
       [](auto& r) {
         return Case{Flatten(), any_image(r)};
       }},
      {"Reshape",
       [](auto& r) {
         return Case{Reshape(Shape{-1, 2}), Shape{2 * pick(r, 1, 6), pick(r, 1, 4)}};
       }},
      {"Add",
       [](auto& r) {
         return Case{Add(), any_image(r), pick(r, 2, 3)};
       }},
      {"Dropout",
       [](auto& r) {
         return Case{Dropout(0.4F), any_image(r)};
       }},
      {"RandomFlip",
       [](auto& r) {
         return Case{RandomFlip(), any_image(r)};
       }},
      {"Rescaling",
       [](auto& r) {
         return Case{Rescaling(1.7F, -0.3F), any_image(r)};
       }},
  };
  return entries;
}

// Input has nothing to derive, and an Embedding's input are whole numbers: its own test sums gradients by row.
const std::set<std::string> kTestedByThemselves = {"InputLayer", "Embedding"};

TEST(LayerTable, HasEveryLayerThereIs) {
  for (const std::string& name : layer_class_names())
    EXPECT_TRUE(table().count(name) + kTestedByThemselves.count(name) == 1) << name << " has no gradient check";
  for (const auto& [name, make] : table()) {
    std::mt19937 random(1);
    EXPECT_EQ(make(random).layer.impl()->class_name(), name);
  }
}

class LayerGradient : public ::testing::TestWithParam<std::string> {};

// Inputs come from probes, so that they are variables too. Near a kink (a ReLU's, a maximum's) the slopes of both sides differ: such
// elements say nothing and are left out; most must remain.
TEST_P(LayerGradient, EqualsFiniteDifferences) {
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(GetParam())));
  int checked = 0, kinks = 0;
  for (int round = 0; round < 8; ++round) {
    const Case made = table().at(GetParam())(random);
    const int batch = pick(random, 2, 4);
    std::vector<Node> nodes;
    Node last{made.layer.impl(), {}, {}};
    for (int i = 0; i < made.inputs; ++i) {
      nodes.push_back({make_probe(batch, made.sample), {-1}, {}});
      last.inputs.push_back(i);
    }
    nodes.push_back(last);
    Runner runner(Graph::build(nodes, Shape{1}), batch);
    runner.randomize(random);
    const Values nothing(static_cast<std::size_t>(batch));
    const Values upstream = random_values(static_cast<std::int64_t>(runner.forward(nothing).size()), random);
    const auto weighted = [&] {
      const Values y = runner.forward(nothing);
      return std::inner_product(y.begin(), y.end(), upstream.begin(), 0.0);
    };
    const double here = weighted();
    runner.backward(upstream);
    const std::vector<VariableSpec>& specs = runner.graph.layout().specs();
    for (int v = 0; v < static_cast<int>(specs.size()); ++v) {
      if (!specs[static_cast<std::size_t>(v)].trainable) continue;
      const Values gradient = runner.gradient(v);
      double scale = 0.1;
      for (const float g : gradient) scale = std::max(scale, std::fabs(static_cast<double>(g)));
      const Values values = runner.variable(v);
      for (int k = 0; k < 6; ++k) {
        const std::size_t element = std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random);
        constexpr float kStep = 4e-3F;
        const auto at = [&](float delta) {
          Values moved = values;
          moved[element] += delta;
          runner.variables.write(v, Array(specs[static_cast<std::size_t>(v)].shape, moved));
          return weighted();
        };
        const double right = (at(kStep) - here) / kStep, left = (here - at(-kStep)) / kStep;
        at(0);
        if (std::fabs(right - left) > 0.02 * scale) {
          ++kinks;
          continue;
        }
        ++checked;
        EXPECT_NEAR(gradient[element], (left + right) / 2, 5e-3 * scale)
            << specs[static_cast<std::size_t>(v)].name << "[" << element << "], round " << round << ", sample " << made.sample.str();
      }
    }
  }
  EXPECT_GT(checked, 3 * kinks) << checked << " slopes compared, " << kinks << " at kinks";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, make] : table()) all.push_back(name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, LayerGradient, ::testing::ValuesIn(names()), [](const auto& instance) { return instance.param; });

// Activations by name and the global maximum, against nested loops.
TEST(Activation, EqualsItsFormulaByName) {
  std::mt19937 random(3);
  const std::map<std::string, double (*)(double)> formulas = {{"linear", [](double x) { return x; }},
                                                              {"relu", [](double x) { return std::max(0.0, x); }},
                                                              {"relu6", [](double x) { return std::min(6.0, std::max(0.0, x)); }},
                                                              {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
                                                              {"tanh", [](double x) { return std::tanh(x); }}};
  for (const auto& [name, formula] : formulas) {
    const Values x = random_values(60, random, -9, 9);
    Runner alone({Activation(name)}, Shape{12}, 5, Mode::inference);
    const Values y = alone.forward(x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], formula(x[i]), 1e-5) << name;
    Runner dense({Dense(7, name)}, Shape{12}, 5, Mode::inference);
    dense.randomize(random);
    const Doubles scores = lockstep::test::dense(doubles(x), 12, doubles(dense.variable(0)), 7, doubles(dense.variable(1)));
    const Values z = dense.forward(x);
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(z[i], formula(scores[i]), 2e-5 * (1 + std::fabs(scores[i]))) << name;
  }
}

TEST(GlobalMaxPooling2D, IsTheLargestOfAllPixels) {
  std::mt19937 random(4);
  for (int round = 0; round < 10; ++round) {
    const Shape image = any_image(random);
    const int batch = pick(random, 1, 3);
    const std::int64_t channels = image[2], pixels = image[0] * image[1];
    Runner runner({GlobalMaxPooling2D()}, image, batch, Mode::inference);
    const Values x = random_values(batch * image.size(), random);
    const Values y = runner.forward(x);
    ASSERT_EQ(y.size(), static_cast<std::size_t>(batch * channels));
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t c = 0; c < channels; ++c) {
        float largest = -2;
        for (std::int64_t p = 0; p < pixels; ++p) largest = std::max(largest, x[static_cast<std::size_t>((n * pixels + p) * channels + c)]);
        EXPECT_EQ(y[static_cast<std::size_t>(n * channels + c)], largest);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
