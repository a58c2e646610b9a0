// The public handles of lockstep/layers.h: each makes a layer and sets its options.
#include "lockstep/layers.h"

#include "engine/nn/conv2d.h"
#include "engine/nn/dense.h"
#include "engine/nn/pooling2d.h"
#include "engine/nn/simple_layers.h"

namespace lockstep {

std::string Layer::name() const { return impl_->name(); }
std::optional<Shape> Layer::input_shape() const { return impl_->declared_input(); }
bool Layer::trainable() const { return impl_->trainable(); }
void Layer::set_trainable(bool yes) const { impl_->set_trainable(yes); }
void Layer::set_name(const std::string& name) { impl_->set_name(name); }
void Layer::set_input_shape(const Shape& sample) { impl_->declare_input(sample); }

Input::Input(const Shape& sample) : LayerOptions(std::make_shared<InputImpl>(sample)) {}

Conv2D::Conv2D(int filters, Extent2D kernel_size, const std::string& activation)
    : LayerOptions(std::make_shared<Conv2DImpl>(filters, kernel_size, parse_activation(activation))) {}
Conv2D Conv2D::padding(const std::string& padding) { return as<Conv2DImpl>().padding = parse_padding(padding), *this; }
Conv2D Conv2D::strides(Extent2D strides) { return as<Conv2DImpl>().strides = strides, *this; }
Conv2D Conv2D::dilation_rate(Extent2D rate) { return as<Conv2DImpl>().dilation = rate, *this; }
Conv2D Conv2D::use_bias(bool yes) { return as<Conv2DImpl>().use_bias = yes, *this; }
Conv2D Conv2D::kernel_initializer(const std::string& name) { return as<Conv2DImpl>().kernel_initializer = parse_initializer(name), *this; }
Conv2D Conv2D::bias_initializer(const std::string& name) { return as<Conv2DImpl>().bias_initializer = parse_initializer(name), *this; }

MaxPooling2D::MaxPooling2D(Extent2D pool_size) : LayerOptions(std::make_shared<MaxPooling2DImpl>(pool_size)) {}
MaxPooling2D MaxPooling2D::strides(Extent2D strides) { return as<MaxPooling2DImpl>().strides = strides, *this; }
MaxPooling2D MaxPooling2D::padding(const std::string& padding) { return as<MaxPooling2DImpl>().padding = parse_padding(padding), *this; }

GlobalMaxPooling2D::GlobalMaxPooling2D() : LayerOptions(std::make_shared<GlobalMaxPooling2DImpl>()) {}
GlobalMaxPooling2D GlobalMaxPooling2D::keepdims(bool yes) { return as<GlobalMaxPooling2DImpl>().keepdims = yes, *this; }

Flatten::Flatten() : LayerOptions(std::make_shared<FlattenImpl>()) {}

Dense::Dense(int units, const std::string& activation) : LayerOptions(std::make_shared<DenseImpl>(units, parse_activation(activation))) {}
Dense Dense::use_bias(bool yes) { return as<DenseImpl>().use_bias = yes, *this; }
Dense Dense::kernel_initializer(const std::string& name) { return as<DenseImpl>().kernel_initializer = parse_initializer(name), *this; }
Dense Dense::bias_initializer(const std::string& name) { return as<DenseImpl>().bias_initializer = parse_initializer(name), *this; }

ReLU::ReLU(float max_value) : LayerOptions(std::make_shared<ReLUImpl>(max_value)) {}
Activation::Activation(const std::string& activation) : LayerOptions(std::make_shared<ActivationImpl>(parse_activation(activation))) {}
Softmax::Softmax() : LayerOptions(std::make_shared<SoftmaxImpl>()) {}

}  // namespace lockstep
