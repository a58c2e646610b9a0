// Layers, with Keras' names, defaults and options: Conv2D(32, 3, "relu").padding("same").name("c1").
//
// Each is a handle: copies name the same layer. A layer gets its variables when a model is built for a shape of samples.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/shape.h"

namespace lockstep {

class LayerImpl;

// Height and width; one number stands for both: MaxPooling2D(2), Conv2D(8, {5, 3}).
struct Extent2D {
  Extent2D(int both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor): one number is how people write it
  Extent2D(int h, int w) : height(h), width(w) {}
  int height = 1;
  int width = 1;
};

class Layer {
 public:
  std::string name() const;                  // as given; else Keras' automatic one ("conv2d", "dense_1") once a model was built
  std::optional<Shape> input_shape() const;  // of one sample, where it was given
  const std::shared_ptr<LayerImpl>& impl() const { return impl_; }

 protected:
  explicit Layer(std::shared_ptr<LayerImpl> impl) : impl_(std::move(impl)) {}
  void set_name(const std::string& name);
  void set_input_shape(const Shape& sample);
  std::shared_ptr<LayerImpl> impl_;
};

// Options every layer has; they return the layer itself, so that they can be strung together.
template <typename Self>
class LayerOptions : public Layer {
 public:
  using Layer::input_shape;
  using Layer::name;
  Self name(const std::string& name) { return set_name(name), self(); }
  // Shape of one sample; only the first layer of a model needs it, and only where the model is built before it sees data.
  Self input_shape(const Shape& sample) { return set_input_shape(sample), self(); }

 protected:
  using Layer::Layer;
  const Self& self() const { return static_cast<const Self&>(*this); }
};

// The shape of one sample, said at the start of a chain. Not a layer of its own in the model's summary.
class Input : public LayerOptions<Input> {
 public:
  explicit Input(const Shape& sample);
};

// Images (height, width, channels) -> (height', width', filters). Activations: "", "linear", "relu", "softmax".
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

class MaxPooling2D : public LayerOptions<MaxPooling2D> {
 public:
  explicit MaxPooling2D(Extent2D pool_size = 2);  // strides as large as the pool
  MaxPooling2D strides(Extent2D strides);
  MaxPooling2D padding(const std::string& padding);
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

class ReLU : public LayerOptions<ReLU> {
 public:
  ReLU();
};

// Over the last axis.
class Softmax : public LayerOptions<Softmax> {
 public:
  Softmax();
};

}  // namespace lockstep
