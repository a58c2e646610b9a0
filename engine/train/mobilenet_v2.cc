// MobileNetV2, layer by layer as Keras builds it: names, order, padding and rounding of widths are its.
#include <algorithm>
#include <cstdint>

#include "engine/nn/functional.h"
#include "lockstep/applications.h"
#include "lockstep/error.h"

namespace lockstep::applications {
namespace {

// The nearest multiple of 8, but never more than 10 % below: Keras' _make_divisible.
int make_divisible(double width) {
  constexpr int kDivisor = 8;
  const int rounded = std::max(kDivisor, static_cast<int>(width + kDivisor / 2.0) / kDivisor * kDivisor);
  return rounded < 0.9 * width ? rounded + kDivisor : rounded;
}

struct Normalisation {
  float momentum, epsilon;
  bool synchronized;
};

KerasTensor normalise(const KerasTensor& x, const Normalisation& how, const std::string& name) {
  return BatchNormalization().momentum(how.momentum).epsilon(how.epsilon).synchronized(how.synchronized).name(name)(x);
}

KerasTensor pointwise(const KerasTensor& x, int filters, const std::string& name) {
  return Conv2D(filters, 1).padding("same").use_bias(false).name(name)(x);
}

// Zeros before a 3x3 window with stride 2, so that it falls where it does for odd extents: Keras' correct_pad.
ZeroPadding2D correct_pad(const KerasTensor& x) {
  const int top = x.shape()[0] % 2 == 0 ? 0 : 1;
  const int left = x.shape()[1] % 2 == 0 ? 0 : 1;
  return ZeroPadding2D(top, 1, left, 1);
}

struct Block {
  int index, filters, stride, expansion;
};

KerasTensor inverted_residual(const KerasTensor& input, const Block& block, double alpha, const Normalisation& how) {
  const std::int64_t in_channels = input.shape()[-1];
  const int filters = make_divisible(static_cast<int>(block.filters * alpha));
  const std::string prefix = block.index == 0 ? "expanded_conv_" : "block_" + std::to_string(block.index) + "_";
  KerasTensor x = input;
  if (block.index > 0) {
    x = pointwise(x, static_cast<int>(block.expansion * in_channels), prefix + "expand");
    x = normalise(x, how, prefix + "expand_BN");
    x = ReLU(6).name(prefix + "expand_relu")(x);
  }
  if (block.stride == 2) x = correct_pad(x).name(prefix + "pad")(x);
  x = DepthwiseConv2D(3).strides(block.stride).use_bias(false).padding(block.stride == 1 ? "same" : "valid").name(prefix + "depthwise")(x);
  x = normalise(x, how, prefix + "depthwise_BN");
  x = ReLU(6).name(prefix + "depthwise_relu")(x);
  x = pointwise(x, filters, prefix + "project");
  x = normalise(x, how, prefix + "project_BN");
  if (in_channels == filters && block.stride == 1) x = Add().name(prefix + "add")({input, x});
  return x;
}

constexpr Block kBlocks[] = {{0, 16, 1, 1},  {1, 24, 2, 6},   {2, 24, 1, 6},   {3, 32, 2, 6},   {4, 32, 1, 6},  {5, 32, 1, 6},
                             {6, 64, 2, 6},  {7, 64, 1, 6},   {8, 64, 1, 6},   {9, 64, 1, 6},   {10, 96, 1, 6}, {11, 96, 1, 6},
                             {12, 96, 1, 6}, {13, 160, 2, 6}, {14, 160, 1, 6}, {15, 160, 1, 6}, {16, 320, 1, 6}};

// Keras' name: mobilenetv2_1.00_224, with the extent of the images.
std::string default_name(double alpha, std::int64_t extent) {
  const auto hundredths = static_cast<int>(alpha * 100 + 0.5);
  const std::string rest = std::to_string(hundredths % 100);
  return "mobilenetv2_" + std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest + "_" + std::to_string(extent);
}

// The Input a tensor was made from.
KerasTensor source_of(const KerasTensor& tensor) {
  std::shared_ptr<const TensorNode> at = tensor.node();
  while (!at->inputs.empty()) at = at->inputs.front();
  return KerasTensor(at);
}

}  // namespace

Model MobileNetV2(const MobileNetV2Options& options) {
  const Shape asked = options.input_tensor_ ? options.input_tensor_->shape : options.input_shape_;
  const Shape sample = asked.rank() == 0 ? Shape{224, 224, 3} : asked;
  if (sample.rank() != 3 || sample[0] < 32 || sample[1] < 32)
    throw Error("MobileNetV2: images of shape (height, width, channels) with at least 32 x 32 pixels are wanted, not " + sample.str());
  if (!(options.alpha_ > 0)) throw Error("MobileNetV2: alpha must be positive, not " + std::to_string(options.alpha_));
  if (options.include_top_ && options.classes_ < 1)
    throw Error("MobileNetV2: classes must be positive, not " + std::to_string(options.classes_));
  if (!options.pooling_.empty() && options.pooling_ != "avg" && options.pooling_ != "max")
    throw Error("MobileNetV2: there is no pooling \"" + options.pooling_ + "\"; there are \"\", \"avg\" and \"max\"");
  if (options.weights_ == "imagenet")
    throw Error("MobileNetV2: ImageNet's weights are not part of this program: weights(path) takes a file of them, such as Keras' .h5");

  const Normalisation how{options.momentum_, options.epsilon_, options.synchronized_};
  const KerasTensor first = options.input_tensor_ ? KerasTensor(options.input_tensor_) : static_cast<KerasTensor>(Input(sample));
  const KerasTensor input = source_of(first);
  KerasTensor x = Conv2D(make_divisible(32 * options.alpha_), 3).strides(2).padding("same").use_bias(false).name("Conv1")(first);
  x = normalise(x, how, "bn_Conv1");
  x = ReLU(6).name("Conv1_relu")(x);
  for (const Block& block : kBlocks) x = inverted_residual(x, block, options.alpha_, how);
  // The last convolution keeps its width in narrow models.
  x = Conv2D(options.alpha_ > 1 ? make_divisible(1280 * options.alpha_) : 1280, 1).use_bias(false).name("Conv_1")(x);
  x = normalise(x, how, "Conv_1_bn");
  x = ReLU(6).name("out_relu")(x);
  if (options.include_top_ || options.pooling_ == "avg")
    x = GlobalAveragePooling2D()(x);
  else if (options.pooling_ == "max")
    x = GlobalMaxPooling2D()(x);
  if (options.include_top_) x = Dense(options.classes_, options.classifier_activation_).name("predictions")(x);
  Model model(input, x, options.name_.empty() ? default_name(options.alpha_, sample[0]) : options.name_);
  if (!options.weights_.empty()) load_mobilenet_v2_weights(model, options.weights_);
  return model;
}

}  // namespace lockstep::applications
