// ResNet-50, layer by layer as Keras builds it: names, order and padding are its.
#include "lockstep/applications.h"

#include "lockstep/error.h"

namespace lockstep::applications {
namespace {

struct Style {
  bool stride_in_3x3;  // version 1.5
  float momentum, epsilon;
  bool synchronized;
};

KerasTensor convolve(const KerasTensor& x, Conv2D convolution, const Style& style, const std::string& name) {
  return BatchNormalization()
      .momentum(style.momentum)
      .epsilon(style.epsilon)
      .synchronized(style.synchronized)
      .name(name + "_bn")(convolution.name(name + "_conv")(x));
}

KerasTensor relu(const KerasTensor& x, const std::string& name) { return Activation("relu").name(name)(x); }

// Narrow, 3x3, widen to four times, and add the input; the first block of a stack widens the input, too.
KerasTensor block(const KerasTensor& input, int filters, int stride, bool first, const Style& style, const std::string& name) {
  const KerasTensor shortcut = first ? convolve(input, Conv2D(4 * filters, 1).strides(stride), style, name + "_0") : input;
  KerasTensor x = convolve(input, Conv2D(filters, 1).strides(style.stride_in_3x3 ? 1 : stride), style, name + "_1");
  x = relu(x, name + "_1_relu");
  x = convolve(x, Conv2D(filters, 3).strides(style.stride_in_3x3 ? stride : 1).padding("same"), style, name + "_2");
  x = relu(x, name + "_2_relu");
  x = convolve(x, Conv2D(4 * filters, 1), style, name + "_3");
  return relu(Add().name(name + "_add")({shortcut, x}), name + "_out");
}

struct Stack {
  int filters, blocks, stride;
};
constexpr Stack kStacks[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};

}  // namespace

Model ResNet50(const ResNet50Options& options) {
  const Shape asked = options.input_shape_;
  const Shape sample = asked.rank() == 0 ? Shape{224, 224, 3} : asked;
  if (sample.rank() != 3 || sample[0] < 32 || sample[1] < 32)
    throw Error("ResNet50: images of shape (height, width, channels) with at least 32 x 32 pixels are wanted, not " + sample.str());
  if (options.include_top_ && options.classes_ < 1)
    throw Error("ResNet50: classes must be positive, not " + std::to_string(options.classes_));
  if (!options.pooling_.empty() && options.pooling_ != "avg" && options.pooling_ != "max")
    throw Error("ResNet50: there is no pooling \"" + options.pooling_ + R"("; there are "", "avg" and "max")");
  if (options.version_ != 1 && options.version_ != 1.5)
    throw Error("ResNet50: there is no version " + std::to_string(options.version_) + "; there are 1, which is Keras', and 1.5");
  const Style style{options.version_ == 1.5, options.momentum_, options.epsilon_, options.synchronized_};
  const KerasTensor input = Input(sample);
  KerasTensor x = ZeroPadding2D(3).name("conv1_pad")(input);
  x = relu(convolve(x, Conv2D(64, 7).strides(2), style, "conv1"), "conv1_relu");
  x = MaxPooling2D(3).strides(2).name("pool1_pool")(ZeroPadding2D(1).name("pool1_pad")(x));
  int number = 2;
  for (const Stack& stack : kStacks) {
    for (int b = 1; b <= stack.blocks; ++b)
      x = block(x, stack.filters, b == 1 ? stack.stride : 1, b == 1, style, "conv" + std::to_string(number) + "_block" + std::to_string(b));
    ++number;
  }
  if (options.include_top_ || options.pooling_ == "avg")
    x = GlobalAveragePooling2D().name("avg_pool")(x);
  else if (options.pooling_ == "max")
    x = GlobalMaxPooling2D().name("max_pool")(x);
  if (options.include_top_) x = Dense(options.classes_, options.classifier_activation_).name("predictions")(x);
  return {input, x, options.name_};
}

}  // namespace lockstep::applications
