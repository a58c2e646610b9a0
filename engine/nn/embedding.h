// Embedding: whole numbers to rows of a table that is learned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/initializer.h"
#include "engine/nn/layer.h"

namespace lockstep {

class EmbeddingImpl : public LayerImpl {
 public:
  EmbeddingImpl(std::int64_t rows, std::int64_t columns) : input_dim(rows), output_dim(columns) {}

  std::string class_name() const override { return "Embedding"; }
  Shape output_shape(const std::vector<Shape>& inputs) const override;
  std::vector<VariableSpec> variables(const std::vector<Shape>& inputs) const override;
  std::unique_ptr<LayerOp> plan(const LayerPlan& plan) const override;
  DType input_type() const override { return DType::int32; }
  void check_samples(const Array& x) const override;

  std::int64_t input_dim, output_dim;
  Initializer initializer{Initializer::Kind::random_uniform, 0.05F};
};

}  // namespace lockstep
