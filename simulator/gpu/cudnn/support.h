// What the engines here can compute, and small questions about tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/gpu/cudnn/descriptor.h"

namespace lockstep::sim::dnn {

std::int64_t data_type_bytes(int type);  // 0: not a type of tensor elements

bool packed(const TensorValue& tensor);    // every element of its memory is an element of the tensor
bool overlaps(const TensorValue& tensor);  // two indices share an element; strides of 0 are broadcasts and do not count

// The three convolution operations have the same attributes under their own names.
struct OperationAttributes {
  Direction direction;
  cudnnBackendAttributeName_t x, w, y, geometry, alpha, beta;
};
OperationAttributes operation_attributes(cudnnBackendDescriptorType_t operation);

// A graph as it is computed: one convolution, and what comes after it before its result is stored.
struct Recipe {
  ConvolutionShape shape;
  TensorValue x, w, y;
  std::optional<TensorValue> addend, bias;
};

// How a graph is computed, if an engine here computes it.
std::optional<Recipe> computable(const GraphValue& graph);
std::int64_t engine_count(const GraphValue& graph);

}  // namespace lockstep::sim::dnn
