// The public handles of lockstep/sequence_layers.h: each makes a layer and sets its options.
#include "lockstep/sequence_layers.h"

#include "engine/nn/embedding.h"
#include "engine/nn/layers_1d.h"

namespace lockstep {

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim)
    : LayerOptions(std::make_shared<EmbeddingImpl>(input_dim, output_dim)) {}
Embedding Embedding::embeddings_initializer(const std::string& name) {
  return as<EmbeddingImpl>().initializer = parse_initializer(name), *this;
}

Conv1D::Conv1D(int filters, int kernel_size, const std::string& activation)
    : LayerOptions(std::make_shared<Conv1DImpl>(filters, kernel_size, parse_activation(activation))) {}
Conv1D Conv1D::padding(const std::string& padding) { return as<Conv1DImpl>().image.padding = parse_padding(padding), *this; }
Conv1D Conv1D::strides(int strides) { return as<Conv1DImpl>().image.strides = Extent2D(1, strides), *this; }
Conv1D Conv1D::dilation_rate(int rate) { return as<Conv1DImpl>().image.dilation = Extent2D(1, rate), *this; }
Conv1D Conv1D::use_bias(bool yes) { return as<Conv1DImpl>().image.use_bias = yes, *this; }
Conv1D Conv1D::kernel_initializer(const std::string& name) {
  return as<Conv1DImpl>().image.kernel_initializer = parse_initializer(name), *this;
}
Conv1D Conv1D::bias_initializer(const std::string& name) {
  return as<Conv1DImpl>().image.bias_initializer = parse_initializer(name), *this;
}

MaxPooling1D::MaxPooling1D(int pool_size) : LayerOptions(std::make_shared<MaxPooling1DImpl>(pool_size)) {}
MaxPooling1D MaxPooling1D::strides(int strides) { return as<MaxPooling1DImpl>().image.strides = Extent2D(1, strides), *this; }
MaxPooling1D MaxPooling1D::padding(const std::string& padding) {
  return as<MaxPooling1DImpl>().image.padding = parse_padding(padding), *this;
}

}  // namespace lockstep
