#include "engine/nn/embedding.h"

#include <utility>

#include "engine/ops/embedding.h"

namespace lockstep {
namespace {

class EmbeddingOp : public LayerOp {
 public:
  bool needs_output() const override { return false; }
  void forward(const LayerRun& run) override { ops::embedding_lookup(run.op, run.inputs[0], run.variables[0], run.output); }
  void backward(const LayerRun& run) override {
    ops::embedding_gradient(run.op, run.inputs[0], run.output_gradient, run.gradients[0], run.squares.empty() ? Tensor() : run.squares[0]);
    run.finished(0);
  }
};

}  // namespace

Shape EmbeddingImpl::output_shape(const std::vector<Shape>& inputs) const {
  if (input_dim <= 0 || output_dim <= 0) refuse_options("input_dim and output_dim must be positive");
  const Shape& ids = inputs.at(0);
  if (ids.size() <= 0) refuse(ids, "whole numbers, such as (300,)");
  std::vector<std::int64_t> extents = ids.extents();
  extents.push_back(output_dim);
  return Shape(std::move(extents));
}

std::vector<VariableSpec> EmbeddingImpl::variables(const std::vector<Shape>& /*inputs*/) const {
  VariableSpec spec{"embeddings", Shape{input_dim, output_dim}, true, initializer};
  spec.sparse = true;
  return {spec};
}

std::unique_ptr<LayerOp> EmbeddingImpl::plan(const LayerPlan& /*plan*/) const { return std::make_unique<EmbeddingOp>(); }

void EmbeddingImpl::check_samples(const Array& x) const {
  const auto* ids = x.data<std::int32_t>();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < input_dim) continue;
    refuse_options("sample " + std::to_string(i / x.shape().sample().size()) + " holds the number " + std::to_string(ids[i]) +
                   "; its table has rows 0 to " + std::to_string(input_dim - 1));
  }
}

}  // namespace lockstep
