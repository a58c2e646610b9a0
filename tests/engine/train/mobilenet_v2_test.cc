// MobileNetV2 as Keras has it: parameters, layers, shapes. (Its numbers are held against TensorFlow's in tests/goldens.)
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"
#include "tests/engine/train/support/by_heart.h"

namespace lockstep {
namespace {

using applications::MobileNetV2;
using applications::MobileNetV2Options;

TEST(MobileNetV2, HasKerasParameters) {
  const Model features = MobileNetV2(MobileNetV2Options().include_top(false));
  EXPECT_EQ(features.count_params(), 2257984);
  const Model whole = MobileNetV2();
  EXPECT_EQ(whole.count_params(), 3538984);
  EXPECT_EQ(MobileNetV2(MobileNetV2Options().alpha(0.35).input_shape({96, 96, 3}).classes(2)).count_params(), 412770);
}

TEST(MobileNetV2, ListsKerasVariablesAndLayers) {
  const Model model = MobileNetV2(MobileNetV2Options().alpha(0.35).input_shape({96, 96, 3}).include_top(false).pooling("avg"));
  const std::vector<NamedArray> weights = model.get_weights();
  ASSERT_EQ(weights.size(), 260U);  // 52 convolutions and as many normalisations of four
  EXPECT_EQ(weights[0].name, "Conv1/kernel");
  EXPECT_EQ(weights[1].name, "bn_Conv1/gamma");
  EXPECT_EQ(weights[4].name, "bn_Conv1/moving_variance");
  EXPECT_EQ(weights[5].name, "expanded_conv_depthwise/kernel");
  EXPECT_EQ(weights[15].name, "block_1_expand/kernel");
  EXPECT_EQ(weights[255].name, "Conv_1/kernel");
  EXPECT_EQ(weights[259].name, "Conv_1_bn/moving_variance");
  const std::string summary = model.summary();
  EXPECT_NE(summary.find("Model: \"mobilenetv2_0.35_96\""), std::string::npos);
  for (const char* layer : {"Connected to", "input_layer", "block_1_pad", "block_16_project", "out_relu", "global_average_poo"})
    EXPECT_NE(summary.find(layer), std::string::npos) << layer;
  EXPECT_EQ(summary.find("block_1_add"), std::string::npos);
  EXPECT_NE(summary.find("block_2_add (Add)"), std::string::npos);
}

TEST(MobileNetV2, LearnsAFewImagesByHeart) {
  learns_by_heart(MobileNetV2(MobileNetV2Options().alpha(0.35).input_shape({32, 32, 3}).classes(2).batch_norm(0.9F)), Adam(1e-3F), 8);
}

TEST(MobileNetV2, RefusesWhatItCannotBe) {
  EXPECT_THROW(MobileNetV2(MobileNetV2Options().input_shape({16, 16, 3})), Error);
  EXPECT_THROW(MobileNetV2(MobileNetV2Options().alpha(0)), Error);
  EXPECT_THROW(MobileNetV2(MobileNetV2Options().include_top(false).pooling("median")), Error);
  EXPECT_THROW(MobileNetV2(MobileNetV2Options().weights("imagenet")), Error);
}

}  // namespace
}  // namespace lockstep
