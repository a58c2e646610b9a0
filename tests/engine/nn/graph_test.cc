// Graphs: names, shapes, the sentences when something does not fit, and how variables lie.
#include "engine/nn/graph.h"

#include <gtest/gtest.h>

#include "engine/nn/summary.h"
#include "lockstep/error.h"
#include "tests/engine/nn/support/runner.h"
#include "tests/support/error_of.h"

namespace lockstep::test {
namespace {

std::vector<Layer> mnist() { return {Conv2D(32, 3, "relu"), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)}; }

Graph chain(const std::vector<Layer>& layers, const Shape& sample = {}) { return Graph::chain(impls(layers), sample); }

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> found;
  for (const Node& node : graph.nodes()) found.push_back(node.layer->name());
  return found;
}

TEST(Graph, NamesAreThoseOfKeras) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(chain(mnist(), {28, 28, 1})), (Names{"conv2d", "max_pooling2d", "flatten", "dense", "dense_1"}));
  EXPECT_EQ(names(chain({Dense(2), ReLU(), Dense(3), Softmax(), Dense(4)}, {5})),
            (Names{"dense", "re_lu", "dense_1", "softmax", "dense_2"}));
  EXPECT_EQ(automatic_name("BatchNormalization"), "batch_normalization");
  EXPECT_EQ(automatic_name("DepthwiseConv2D"), "depthwise_conv2d");
  EXPECT_EQ(automatic_name("GlobalAveragePooling2D"), "global_average_pooling2d");
}

TEST(Graph, GivenNamesStayAndAutomaticOnesAvoidThem) {
  const std::vector<Layer> layers{Dense(2), Dense(3).name("dense_1"), Dense(4), Dense(5).name("top")};
  EXPECT_EQ(names(chain(layers, {1})), (std::vector<std::string>{"dense", "dense_1", "dense_2", "top"}));
  EXPECT_EQ(layers[0].name(), "dense");
}

TEST(Graph, EveryModelNumbersItsOwnLayers) {
  const Graph first = chain({Dense(2)}, {1}), second = chain({Dense(2)}, {1});
  EXPECT_EQ(names(first), names(second));
}

TEST(Graph, ALayerCannotStandTwiceNorANameBeUsedTwice) {
  const Layer layer = Dense(2);
  EXPECT_NE(error_of([&] { chain({layer, layer}, {2}); }).find("stands twice"), std::string::npos);
  EXPECT_EQ(error_of([] {
              chain({Dense(2).name("a"), Dense(2).name("a")}, {2});
            }),
            "Two layers are named \"a\": names must be unique in a model");
}

TEST(Graph, ShapesFollowTheLayers) {
  const Graph graph = chain(mnist(), {28, 28, 1});
  EXPECT_EQ(graph.nodes()[0].output, (Shape{26, 26, 32}));
  EXPECT_EQ(graph.nodes()[1].output, (Shape{13, 13, 32}));
  EXPECT_EQ(graph.nodes()[2].output, (Shape{5408}));
  EXPECT_EQ(graph.output(), (Shape{10}));
  EXPECT_EQ(graph.layout().parameters(), 693962);
  EXPECT_EQ(chain({Conv2D(8, {5, 3}).padding("same").strides(2)}, {7, 8, 3}).output(), (Shape{4, 4, 8}));
  EXPECT_EQ(chain({Conv2D(8, 3).dilation_rate(2)}, {7, 8, 3}).output(), (Shape{3, 4, 8}));
  EXPECT_EQ(chain({MaxPooling2D(3).strides(1)}, {7, 8, 3}).output(), (Shape{5, 6, 3}));
  EXPECT_EQ(chain({MaxPooling2D(2).padding("same")}, {7, 8, 3}).output(), (Shape{4, 4, 3}));
  EXPECT_EQ(chain({Dense(4)}, {6, 5}).output(), (Shape{6, 4}));
}

TEST(Graph, TheInputShapeMayBeSaidInThreeWays) {
  EXPECT_EQ(chain({Input({28, 28, 1}), Conv2D(1, 3)}).input(), (Shape{28, 28, 1}));
  EXPECT_EQ(chain({Conv2D(1, 3).input_shape({9, 9, 2})}).input(), (Shape{9, 9, 2}));
  EXPECT_EQ(chain({Conv2D(1, 3)}, {9, 9, 2}).input(), (Shape{9, 9, 2}));
  EXPECT_EQ(chain({Input({28, 28, 1}), Conv2D(1, 3)}).nodes().size(), 1U);
  EXPECT_NE(error_of([] { chain({Dense(1)}); }).find("does not know the shape of its samples"), std::string::npos);
  EXPECT_EQ(error_of([] { chain({Input({4}), Dense(1)}, {5}); }), "The first layer declares samples of shape (4,), but they have (5,)");
  EXPECT_NE(error_of([] { chain({Dense(1), Input({4})}, {5}); }).find("can only come first"), std::string::npos);
  EXPECT_NE(error_of([] { chain({Input({4})}); }).find("at least one layer"), std::string::npos);
}

TEST(Graph, ErrorsNameTheLayerWhatItGotAndWhatItWants) {
  EXPECT_EQ(error_of([] { chain({Conv2D(8, 3).name("c1")}, {784}); }),
            "Conv2D \"c1\": got samples of shape (784,); it wants images: (height, width, channels), such as (28, 28, 1)");
  EXPECT_EQ(error_of([] {
              chain({Conv2D(8, 3), Conv2D(8, 5)}, {6, 9, 1});
            }),
            "Conv2D \"conv2d_1\": got samples of shape (4, 7, 8); it wants images at least as large as its window, 5 x 5, or "
            "padding(\"same\")");
  EXPECT_EQ(error_of([] {
              chain({Flatten(), MaxPooling2D(2)}, {6, 9, 1});
            }),
            "MaxPooling2D \"max_pooling2d\": got samples of shape (54,); it wants images: (height, width, channels), such as (26, 26, 32)");
  EXPECT_EQ(error_of([] {
              chain({MaxPooling2D(7)}, {6, 9, 1});
            }),
            "MaxPooling2D \"max_pooling2d\": got samples of shape (6, 9, 1); it wants images at least as large as its pool, 7 x 7, or "
            "padding(\"same\")");
  EXPECT_EQ(error_of([] { chain({Dense(0)}, {3}); }), "Dense \"dense\": units must be positive, not 0");
  EXPECT_NE(error_of([] { chain({Conv2D(1, 1).strides(0)}, {3, 3, 1}); }).find("must be positive"), std::string::npos);
  EXPECT_NE(error_of([] { Conv2D(1, 1).padding("full"); }).find("valid, same"), std::string::npos);
  EXPECT_NE(error_of([] { Dense(1, "rleu"); }).find("\"rleu\""), std::string::npos);
}

TEST(Graph, EdgesMustLeadForwardAndSomewhere) {
  const auto dense = [] { return Dense(3).impl(); };
  EXPECT_NE(error_of([&] { Graph::build({{dense(), {0}, {}}}, {3}); }).find("comes later"), std::string::npos);
  EXPECT_NE(error_of([&] { Graph::build({{dense(), {-1}, {}}, {dense(), {-1}, {}}}, {3}); }).find("leads nowhere"), std::string::npos);
}

TEST(VariableLayout, VariablesLieInTheOrderInWhichBackwardFinishesThem) {
  const Graph graph = chain(mnist(), {28, 28, 1});
  const VariableLayout& layout = graph.layout();
  std::vector<std::string> keras, ready;
  for (const VariableSpec& spec : layout.specs()) keras.push_back(spec.name);
  for (const int v : layout.ready_order()) ready.push_back(layout.specs()[static_cast<std::size_t>(v)].name);
  EXPECT_EQ(keras,
            (std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"}));
  EXPECT_EQ(ready,
            (std::vector<std::string>{"dense_1/bias", "dense_1/kernel", "dense/bias", "dense/kernel", "conv2d/bias", "conv2d/kernel"}));
  std::int64_t end = 0;
  for (const int v : layout.ready_order()) {
    EXPECT_EQ(layout.offset(v), end);
    EXPECT_EQ(layout.offset(v) % 64, 0);
    end += (layout.specs()[static_cast<std::size_t>(v)].shape.size() + 63) / 64 * 64;
  }
  EXPECT_EQ(layout.trainable_elements(), end);
  EXPECT_EQ(layout.state_elements(), 0);
  EXPECT_EQ(layout.find("dense/kernel"), 2);
  EXPECT_EQ(layout.find("dense"), -1);
  EXPECT_EQ(graph.variables(3).first, 2);
  EXPECT_EQ(graph.variables(3).end, 4);
  EXPECT_EQ(graph.variables(2).first, graph.variables(2).end);
}

TEST(VariableLayout, UntrainedVariablesLieApart) {
  const VariableLayout layout(
      {{"a", Shape{3}, true, {}}, {"mean", Shape{5}, false, {}}, {"b", Shape{2}, true, {}}, {"var", Shape{5}, false, {}}}, {2, 0});
  EXPECT_EQ(layout.offset(2), 0);
  EXPECT_EQ(layout.offset(0), 64);
  EXPECT_EQ(layout.offset(1), 0);
  EXPECT_EQ(layout.offset(3), 64);
  EXPECT_EQ(layout.trainable_elements(), 128);
  EXPECT_EQ(layout.state_elements(), 128);
  EXPECT_EQ(layout.parameters(), 15);
  EXPECT_THROW(VariableLayout({{"a", Shape{3}, true, {}}}, {}), Error);
  EXPECT_THROW(VariableLayout({{"a", Shape{3}, true, {}}}, {0, 0}), Error);
  EXPECT_THROW(VariableLayout({{"a", Shape{3}, false, {}}}, {0}), Error);
}

TEST(Summary, PrintsMnistAsKerasDoes) {
  const std::string want =
      "Model: \"sequential\"\n"
      "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
      "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
      "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
      "│ conv2d (Conv2D)                 │ (None, 26, 26, 32)     │           320 │\n"
      "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
      "│ max_pooling2d (MaxPooling2D)    │ (None, 13, 13, 32)     │             0 │\n"
      "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
      "│ flatten (Flatten)               │ (None, 5408)           │             0 │\n"
      "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
      "│ dense (Dense)                   │ (None, 128)            │       692,352 │\n"
      "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
      "│ dense_1 (Dense)                 │ (None, 10)             │         1,290 │\n"
      "└─────────────────────────────────┴────────────────────────┴───────────────┘\n"
      " Total params: 693,962 (2.65 MB)\n"
      " Trainable params: 693,962 (2.65 MB)\n"
      " Non-trainable params: 0 (0.00 B)\n";
  EXPECT_EQ(summary_text(chain(mnist(), {28, 28, 1}), "sequential"), want);
}

TEST(Summary, LongNamesAreCutAndTheClassWraps) {
  const std::string text =
      summary_text(chain({Conv2D(32, 3).name("a_very_long_name_for_a_layer_that_wraps_somewhere")}, {28, 28, 1}), "tiny");
  EXPECT_NE(text.find("│ a_very_long_name_for_a_layer_t… │ (None, 26, 26, 32)     │           320 │\n"
                      "│ (Conv2D)                        │                        │               │\n"),
            std::string::npos)
      << text;
}

TEST(Summary, NumbersReadAsInKeras) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1000001000), "1,000,001,000");
  EXPECT_EQ(readable_memory(0), "0.00 B");
  EXPECT_EQ(readable_memory(1023), "1023.00 B");
  EXPECT_EQ(readable_memory(1024), "1.00 KB");
  EXPECT_EQ(readable_memory(4.0 * 2000), "7.81 KB");
  EXPECT_EQ(readable_memory(4.0 * 1000001000), "3.73 GB");
}

}  // namespace
}  // namespace lockstep::test
