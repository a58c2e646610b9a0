// summary() against what Keras 3.15.1 prints for the reference models (tests/parity/record_summaries.py wrote the files).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lockstep/lockstep.h"

namespace lockstep {
namespace {

std::string recorded(const std::string& name) {
  const std::ifstream file(std::filesystem::path(LOCKSTEP_TRAIN_TESTS) / "recorded" / (name + ".txt"));
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

TEST(Summary, OfMnistIsKeras) {
  Sequential model({Conv2D(32, 3, "relu").input_shape({28, 28, 1}), MaxPooling2D(2), Flatten(), Dense(128, "relu"), Dense(10)});
  EXPECT_EQ(model.summary(), recorded("mnist"));
  model.compile("adam", SparseCategoricalCrossentropy().from_logits());
  model.train_on_batch(Array(Shape{2, 28, 28, 1}), Array(Shape{2}, DType::int32));
  EXPECT_EQ(model.summary(), recorded("mnist_trained"));
}

TEST(Summary, OfReutersIsKeras) {
  Sequential model({Embedding(30982, 7).input_shape({300}), Conv1D(64, 5, "relu"), MaxPooling1D(2), Conv1D(32, 3, "relu"), MaxPooling1D(2),
                    Flatten(), Dense(46, "softmax")});
  EXPECT_EQ(model.summary(), recorded("reuters"));
  model.compile("nadam", "sparse_categorical_crossentropy");
  model.train_on_batch(Array(Shape{2, 300}, DType::int32), Array(Shape{2}, DType::int32));
  EXPECT_EQ(model.summary(), recorded("reuters_trained"));
}

TEST(Summary, OfMobileNetV2IsKeras) {
  EXPECT_EQ(applications::MobileNetV2().summary(), recorded("mobilenet_v2"));
  const auto features = applications::MobileNetV2Options().include_top(false).pooling("max").alpha(0.35).input_shape({96, 160, 3});
  EXPECT_EQ(applications::MobileNetV2(features).summary(), recorded("mobilenet_v2_features"));
}

}  // namespace
}  // namespace lockstep
