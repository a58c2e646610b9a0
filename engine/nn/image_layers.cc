// The public handles of lockstep/layers.h for images and residual networks: each makes a layer and sets its options.
#include "engine/nn/add.h"
#include "engine/nn/batch_normalization.h"
#include "engine/nn/depthwise_conv2d.h"
#include "engine/nn/pooling2d.h"
#include "engine/nn/random_layers.h"
#include "engine/nn/simple_layers.h"
#include "engine/nn/zero_padding2d.h"
#include "lockstep/layers.h"

namespace lockstep {

DepthwiseConv2D::DepthwiseConv2D(Extent2D kernel_size, const std::string& activation)
    : LayerOptions(std::make_shared<DepthwiseConv2DImpl>(kernel_size, parse_activation(activation))) {}
DepthwiseConv2D DepthwiseConv2D::padding(const std::string& padding) {
  return as<DepthwiseConv2DImpl>().padding = parse_padding(padding), *this;
}
DepthwiseConv2D DepthwiseConv2D::strides(Extent2D strides) { return as<DepthwiseConv2DImpl>().strides = strides, *this; }
DepthwiseConv2D DepthwiseConv2D::dilation_rate(Extent2D rate) { return as<DepthwiseConv2DImpl>().dilation = rate, *this; }
DepthwiseConv2D DepthwiseConv2D::depth_multiplier(int filters) { return as<DepthwiseConv2DImpl>().depth_multiplier = filters, *this; }
DepthwiseConv2D DepthwiseConv2D::use_bias(bool yes) { return as<DepthwiseConv2DImpl>().use_bias = yes, *this; }
DepthwiseConv2D DepthwiseConv2D::depthwise_initializer(const std::string& name) {
  return as<DepthwiseConv2DImpl>().depthwise_initializer = parse_initializer(name), *this;
}
DepthwiseConv2D DepthwiseConv2D::bias_initializer(const std::string& name) {
  return as<DepthwiseConv2DImpl>().bias_initializer = parse_initializer(name), *this;
}

BatchNormalization::BatchNormalization() : LayerOptions(std::make_shared<BatchNormalizationImpl>()) {}
BatchNormalization BatchNormalization::momentum(float momentum) { return as<BatchNormalizationImpl>().momentum = momentum, *this; }
BatchNormalization BatchNormalization::epsilon(float epsilon) { return as<BatchNormalizationImpl>().epsilon = epsilon, *this; }
BatchNormalization BatchNormalization::center(bool yes) { return as<BatchNormalizationImpl>().center = yes, *this; }
BatchNormalization BatchNormalization::synchronized(bool yes) { return as<BatchNormalizationImpl>().synchronized = yes, *this; }
BatchNormalization BatchNormalization::scale(bool yes) { return as<BatchNormalizationImpl>().scale = yes, *this; }

AveragePooling2D::AveragePooling2D(Extent2D pool_size) : LayerOptions(std::make_shared<AveragePooling2DImpl>(pool_size)) {}
AveragePooling2D AveragePooling2D::strides(Extent2D strides) { return as<AveragePooling2DImpl>().strides = strides, *this; }
AveragePooling2D AveragePooling2D::padding(const std::string& padding) {
  return as<AveragePooling2DImpl>().padding = parse_padding(padding), *this;
}

GlobalAveragePooling2D::GlobalAveragePooling2D() : LayerOptions(std::make_shared<GlobalAveragePooling2DImpl>()) {}
GlobalAveragePooling2D GlobalAveragePooling2D::keepdims(bool yes) { return as<GlobalAveragePooling2DImpl>().keepdims = yes, *this; }

ZeroPadding2D::ZeroPadding2D(Extent2D padding) : ZeroPadding2D(padding.height, padding.height, padding.width, padding.width) {}
ZeroPadding2D::ZeroPadding2D(int top, int bottom, int left, int right)
    : LayerOptions(std::make_shared<ZeroPadding2DImpl>(top, bottom, left, right)) {}

Add::Add() : LayerOptions(std::make_shared<AddImpl>()) {}
Dropout::Dropout(float rate) : LayerOptions(std::make_shared<DropoutImpl>(rate)) {}
RandomFlip::RandomFlip(const std::string& mode) : LayerOptions(std::make_shared<RandomFlipImpl>(mode)) {}
Rescaling::Rescaling(float scale, float offset) : LayerOptions(std::make_shared<RescalingImpl>(scale, offset)) {}
Reshape::Reshape(const Shape& target_shape) : LayerOptions(std::make_shared<ReshapeImpl>(target_shape)) {}

}  // namespace lockstep
