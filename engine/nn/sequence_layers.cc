// The public handles of lockstep/sequence_layers.h: each makes a layer and sets its options.
#include "lockstep/sequence_layers.h"

#include "engine/nn/embedding.h"
#include "engine/nn/layers_1d.h"

namespace lockstep {
namespace {

// A handle made by its constructor holds a layer of that class and no other.
template <typename Impl>
Impl& as(const std::shared_ptr<LayerImpl>& layer) {
  return static_cast<Impl&>(*layer);
}
Conv2DImpl& convolution(const std::shared_ptr<LayerImpl>& layer) { return as<Conv1DImpl>(layer).image; }
MaxPooling2DImpl& pooling(const std::shared_ptr<LayerImpl>& layer) { return as<MaxPooling1DImpl>(layer).image; }

}  // namespace

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim)
    : LayerOptions(std::make_shared<EmbeddingImpl>(input_dim, output_dim)) {}
Embedding Embedding::embeddings_initializer(const std::string& name) {
  return as<EmbeddingImpl>(impl_).initializer = parse_initializer(name), *this;
}

Conv1D::Conv1D(int filters, int kernel_size, const std::string& activation)
    : LayerOptions(std::make_shared<Conv1DImpl>(filters, kernel_size, parse_activation(activation))) {}
Conv1D Conv1D::padding(const std::string& padding) { return convolution(impl_).padding = parse_padding(padding), *this; }
Conv1D Conv1D::strides(int strides) { return convolution(impl_).strides = Extent2D(1, strides), *this; }
Conv1D Conv1D::dilation_rate(int rate) { return convolution(impl_).dilation = Extent2D(1, rate), *this; }
Conv1D Conv1D::use_bias(bool yes) { return convolution(impl_).use_bias = yes, *this; }
Conv1D Conv1D::kernel_initializer(const std::string& name) {
  return convolution(impl_).kernel_initializer = parse_initializer(name), *this;
}
Conv1D Conv1D::bias_initializer(const std::string& name) { return convolution(impl_).bias_initializer = parse_initializer(name), *this; }

MaxPooling1D::MaxPooling1D(int pool_size) : LayerOptions(std::make_shared<MaxPooling1DImpl>(pool_size)) {}
MaxPooling1D MaxPooling1D::strides(int strides) { return pooling(impl_).strides = Extent2D(1, strides), *this; }
MaxPooling1D MaxPooling1D::padding(const std::string& padding) { return pooling(impl_).padding = parse_padding(padding), *this; }

}  // namespace lockstep
