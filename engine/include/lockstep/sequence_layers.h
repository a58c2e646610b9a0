// Layers for sequences: (steps,) of whole numbers, or (steps, channels).
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/layers.h"

namespace lockstep {

// Whole numbers (int32) below input_dim to rows of a table: (steps,) -> (steps, output_dim). The first layer of a model.
//
// Its gradient is a row for every number in the batch, and most rows of the table get none; an optimizer sees the sums by row. Keras 3
// differs in one thing: see Optimizer::embedding_gradients.
class Embedding : public LayerOptions<Embedding> {
 public:
  Embedding(std::int64_t input_dim, std::int64_t output_dim);
  Embedding embeddings_initializer(const std::string& name);  // default "random_uniform": between -0.05 and 0.05
};

// (steps, channels) -> (steps', filters).
class Conv1D : public LayerOptions<Conv1D> {
 public:
  Conv1D(int filters, int kernel_size, const std::string& activation = "");
  Conv1D padding(const std::string& padding);  // "valid" (default) or "same"
  Conv1D strides(int strides);
  Conv1D dilation_rate(int rate);
  Conv1D use_bias(bool yes);
  Conv1D kernel_initializer(const std::string& name);  // default "glorot_uniform"
  Conv1D bias_initializer(const std::string& name);    // default "zeros"
};

class MaxPooling1D : public LayerOptions<MaxPooling1D> {
 public:
  explicit MaxPooling1D(int pool_size = 2);  // strides as large as the pool
  MaxPooling1D strides(int strides);
  MaxPooling1D padding(const std::string& padding);
};

}  // namespace lockstep
