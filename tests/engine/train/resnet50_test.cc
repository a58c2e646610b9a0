// ResNet50 as Keras has it: parameters, layers, shapes.
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"
#include "tests/engine/train/support/by_heart.h"

namespace lockstep {
namespace {

using applications::ResNet50;
using applications::ResNet50Options;

TEST(ResNet50, HasKerasParameters) {
  EXPECT_EQ(ResNet50().count_params(), 25636712);
  EXPECT_EQ(ResNet50(ResNet50Options().include_top(false)).count_params(), 23587712);
  EXPECT_EQ(ResNet50(ResNet50Options().version(1.5)).count_params(), 25636712);
}

TEST(ResNet50, ListsKerasVariablesAndLayers) {
  const Model model = ResNet50();
  const std::vector<NamedArray> weights = model.get_weights();
  ASSERT_EQ(weights.size(), 320U);  // 53 convolutions with a bias, as many normalisations of four, and the classifier
  EXPECT_EQ(weights[0].name, "conv1_conv/kernel");
  EXPECT_EQ(weights[1].name, "conv1_conv/bias");
  EXPECT_EQ(weights[5].name, "conv1_bn/moving_variance");
  EXPECT_EQ(weights[319].name, "predictions/bias");
  const std::string summary = model.summary();
  for (const char* layer : {"Model: \"resnet50\"", "conv2_block1_0_conv", "conv3_block4_add", "conv5_block3_out", "pool1_pad", "avg_pool"})
    EXPECT_NE(summary.find(layer), std::string::npos) << layer;
  EXPECT_EQ(summary.find("conv2_block2_0_conv"), std::string::npos);
}

// Both versions halve the extent in the first block of each stack; 1.5 does it one convolution later.
TEST(ResNet50, VersionsDifferInWhereTheStrideIs) {
  const auto narrow = [](double version) {
    const Model model = ResNet50(ResNet50Options().version(version).include_top(false).input_shape({64, 64, 3}));
    return model.summary();
  };
  const std::string keras = narrow(1), published = narrow(1.5);
  EXPECT_NE(keras, published);
  EXPECT_EQ(keras.size(), published.size());
}

TEST(ResNet50, LearnsAFewImagesByHeart) {
  learns_by_heart(ResNet50(ResNet50Options().version(1.5).input_shape({32, 32, 3}).classes(2).batch_norm(0.9F)), Adam(1e-4F), 3);
}

TEST(ResNet50, RefusesWhatItCannotBe) {
  EXPECT_THROW(ResNet50(ResNet50Options().input_shape({16, 16, 3})), Error);
  EXPECT_THROW(ResNet50(ResNet50Options().classes(0)), Error);
  EXPECT_THROW(ResNet50(ResNet50Options().include_top(false).pooling("median")), Error);
  EXPECT_THROW(ResNet50(ResNet50Options().version(2)), Error);
}

}  // namespace
}  // namespace lockstep
