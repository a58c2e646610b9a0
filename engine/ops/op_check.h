// What operations ask of their arguments; a wrong one is a bug in the engine; the Error names the operation and the shapes.
#pragma once

#include <string>

#include "engine/ops/op_context.h"
#include "lockstep/error.h"

namespace lockstep::ops {

inline void expect_size(const char* operation, const char* what, const Tensor& tensor, std::int64_t size) {
  if (tensor.size() == size && (tensor.defined() || size == 0)) return;
  throw Error(std::string(operation) + ": " + what + " has shape " + (tensor.defined() ? tensor.shape().str() : "(none)") + ", but " +
              std::to_string(size) + " elements are needed.");
}

inline void expect_scratch(const char* operation, const OpContext& context, std::size_t bytes) {
  if (bytes == 0 || (context.scratch.defined() && context.scratch.bytes() >= bytes)) return;
  throw Error(std::string(operation) + ": " + std::to_string(bytes) + " bytes of scratch memory are needed, " +
              std::to_string(context.scratch.defined() ? context.scratch.bytes() : 0) + " were planned.");
}

// Rows and columns of a tensor seen as a matrix: the last axis and everything before it.
struct MatrixShape {
  std::int64_t rows = 0, columns = 0;
};
inline MatrixShape as_matrix(const Tensor& tensor) {
  const std::int64_t columns = tensor.shape().rank() > 0 ? tensor.shape()[-1] : 1;
  return {columns > 0 ? tensor.size() / columns : 0, columns};
}

// No weights: every sample counts 1.
inline View<const float> optional_weights(const Tensor& weights) { return weights.defined() ? weights.read() : View<const float>{}; }

}  // namespace lockstep::ops
