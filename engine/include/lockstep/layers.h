// Layers, with Keras' names, defaults and options: Conv2D(32, 3, "relu").padding("same").name("c1").
//
// A layer gets its variables when a model is built for a shape of samples.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/handle.h"
#include "lockstep/shape.h"

namespace lockstep {

class LayerImpl;
struct TensorNode;

// What a layer gives when it is called, not yet computed: KerasTensor x = Input({28, 28, 1}); x = Conv2D(32, 3)(x); Model(input, x)
// makes a model of everything between.
class KerasTensor {
 public:
  explicit KerasTensor(std::shared_ptr<const TensorNode> node) : node_(std::move(node)) {}
  const Shape& shape() const&;  // of one sample
  Shape shape() && { return std::as_const(*this).shape(); }
  const std::shared_ptr<const TensorNode>& node() const& { return node_; }
  std::shared_ptr<const TensorNode> node() && { return std::move(node_); }

 private:
  std::shared_ptr<const TensorNode> node_;
};

// Height and width; one number stands for both: MaxPooling2D(2), Conv2D(8, {5, 3}).
struct Extent2D {
  Extent2D(int both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor): one number is how people write it
  Extent2D(int h, int w) : height(h), width(w) {}
  int height = 1;
  int width = 1;
};

class Layer : public Handle<LayerImpl> {
 public:
  std::string name() const;                  // as given; else Keras' automatic one ("conv2d", "dense_1") once a model was built
  std::optional<Shape> input_shape() const;  // of one sample, where it was given
  explicit Layer(std::shared_ptr<LayerImpl> impl) : Handle(std::move(impl)) {}

  // Is it trained? A frozen layer keeps its weights, and a frozen BatchNormalization runs as in inference. As in Keras a change counts from
  // the model's next compile on.
  bool trainable() const;
  void set_trainable(bool yes) const;

  // A layer stands in one place of one model; where shapes do not fit, calling it is an Error.
  KerasTensor operator()(const KerasTensor& input) const;
  KerasTensor operator()(const std::vector<KerasTensor>& inputs) const;  // Add()({x, y})

 protected:
  void set_name(const std::string& name);
  void set_input_shape(const Shape& sample);
};

// Options every layer has; they return the layer itself, so that they can be strung together.
template <typename Self>
class LayerOptions : public Layer {
 public:
  using Layer::input_shape;
  using Layer::name;
  using Layer::trainable;
  Self name(const std::string& name) { return set_name(name), self(); }
  // Shape of one sample; only the first layer of a model needs it, and only where the model is built before it sees data.
  Self input_shape(const Shape& sample) { return set_input_shape(sample), self(); }
  Self trainable(bool yes) { return set_trainable(yes), self(); }

 protected:
  using Layer::Layer;
  const Self& self() const { return static_cast<const Self&>(*this); }
};

// The shape of one sample, said at the start of a chain or of a functional model.
class Input : public LayerOptions<Input> {
 public:
  explicit Input(const Shape& sample);
  operator KerasTensor() const;  // NOLINT(google-explicit-constructor): Keras' Input is a tensor
};

// Images (height, width, channels) -> (height', width', filters). Activations by name, here and in other
// layers: "" or "linear", "relu", "relu6", "sigmoid", "softmax", "tanh".
class Conv2D : public LayerOptions<Conv2D> {
 public:
  Conv2D(int filters, Extent2D kernel_size, const std::string& activation = "");
  Conv2D padding(const std::string& padding);  // "valid" (default) or "same"
  Conv2D strides(Extent2D strides);
  Conv2D dilation_rate(Extent2D rate);
  Conv2D use_bias(bool yes);
  Conv2D kernel_initializer(const std::string& name);  // default "glorot_uniform"
  Conv2D bias_initializer(const std::string& name);    // default "zeros"
};

// Every channel with filters of its own: (height, width, channels) -> (height', width', channels * depth_multiplier).
class DepthwiseConv2D : public LayerOptions<DepthwiseConv2D> {
 public:
  explicit DepthwiseConv2D(Extent2D kernel_size, const std::string& activation = "");
  DepthwiseConv2D padding(const std::string& padding);
  DepthwiseConv2D strides(Extent2D strides);
  DepthwiseConv2D dilation_rate(Extent2D rate);
  DepthwiseConv2D depth_multiplier(int filters);
  DepthwiseConv2D use_bias(bool yes);
  DepthwiseConv2D depthwise_initializer(const std::string& name);  // default "glorot_uniform"
  DepthwiseConv2D bias_initializer(const std::string& name);       // default "zeros"
};

// Along the last axis. Training uses the statistics of a replica's own samples; the moving ones, averaged over replicas after every
// step, serve inference.
class BatchNormalization : public LayerOptions<BatchNormalization> {
 public:
  BatchNormalization();
  BatchNormalization momentum(float momentum);  // default 0.99
  BatchNormalization epsilon(float epsilon);    // default 1e-3
  BatchNormalization center(bool yes);          // has beta
  BatchNormalization scale(bool yes);           // has gamma
  BatchNormalization synchronized(bool yes);    // statistics of the global batch, not of each replica's samples
};

inline BatchNormalization SyncBatchNormalization() { return BatchNormalization().synchronized(true); }

class MaxPooling2D : public LayerOptions<MaxPooling2D> {
 public:
  explicit MaxPooling2D(Extent2D pool_size = 2);  // strides as large as the pool
  MaxPooling2D strides(Extent2D strides);
  MaxPooling2D padding(const std::string& padding);
};

// Means of windows; zeros that "same" adds are not counted, as in TensorFlow.
class AveragePooling2D : public LayerOptions<AveragePooling2D> {
 public:
  explicit AveragePooling2D(Extent2D pool_size = 2);  // strides as large as the pool
  AveragePooling2D strides(Extent2D strides);
  AveragePooling2D padding(const std::string& padding);
};

// Images (height, width, channels) -> (channels): the mean over all pixels.
class GlobalAveragePooling2D : public LayerOptions<GlobalAveragePooling2D> {
 public:
  GlobalAveragePooling2D();
  GlobalAveragePooling2D keepdims(bool yes);  // (1, 1, channels)
};

// ... or the largest value of all pixels.
class GlobalMaxPooling2D : public LayerOptions<GlobalMaxPooling2D> {
 public:
  GlobalMaxPooling2D();
  GlobalMaxPooling2D keepdims(bool yes);  // (1, 1, channels)
};

// Zeros around an image: so many on all sides, {vertical, horizontal}, or each side by itself.
class ZeroPadding2D : public LayerOptions<ZeroPadding2D> {
 public:
  explicit ZeroPadding2D(Extent2D padding = 1);
  ZeroPadding2D(int top, int bottom, int left, int right);
};

// The sum of several inputs of one shape: Add()({x, y}).
class Add : public LayerOptions<Add> {
 public:
  Add();
};

// In training a share `rate` of the elements becomes 0, the others grow by 1 / (1 - rate). Which ones follows from the model's seed, the
// layer, the step and the sample's place in the global batch, whatever the number of replicas.
class Dropout : public LayerOptions<Dropout> {
 public:
  explicit Dropout(float rate);
};

// In training each image is mirrored or not: "horizontal", "vertical" or "horizontal_and_vertical". Drawn as Dropout does.
class RandomFlip : public LayerOptions<RandomFlip> {
 public:
  explicit RandomFlip(const std::string& mode = "horizontal_and_vertical");
};

// x * scale + offset
class Rescaling : public LayerOptions<Rescaling> {
 public:
  explicit Rescaling(float scale, float offset = 0);
};

// The same elements under another shape of one sample; one extent may be -1. No bytes move.
class Reshape : public LayerOptions<Reshape> {
 public:
  explicit Reshape(const Shape& target_shape);
};

// Everything but the batch in one axis; no bytes move.
class Flatten : public LayerOptions<Flatten> {
 public:
  Flatten();
};

// activation(x * kernel + bias) along the last axis.
class Dense : public LayerOptions<Dense> {
 public:
  explicit Dense(int units, const std::string& activation = "");
  Dense use_bias(bool yes);
  Dense kernel_initializer(const std::string& name);
  Dense bias_initializer(const std::string& name);
};

// max(x, 0), or with an upper bound: ReLU(6).
class ReLU : public LayerOptions<ReLU> {
 public:
  explicit ReLU(float max_value = std::numeric_limits<float>::infinity());
};

// By name: Activation("sigmoid").
class Activation : public LayerOptions<Activation> {
 public:
  explicit Activation(const std::string& activation);
};

// Over the last axis.
class Softmax : public LayerOptions<Softmax> {
 public:
  Softmax();
};

}  // namespace lockstep
