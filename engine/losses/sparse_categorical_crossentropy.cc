#include "engine/losses/sparse_categorical_crossentropy.h"

#include <iostream>

#include "engine/ops/cross_entropy.h"
#include "lockstep/error.h"

namespace lockstep {

bool SparseCategoricalCrossentropyImpl::from_logits(const Program& program) const {
  if (from_logits_ && program.softmax_output() && !warned_.exchange(true))
    std::cerr << "Warning: sparse_categorical_crossentropy has from_logits(), but the model ends in a softmax: its outputs are "
                 "probabilities. The scores before the softmax are used. Fix: leave out one of the two.\n";
  return from_logits_ || program.softmax_output();
}

void SparseCategoricalCrossentropyImpl::run(const OpContext& context, const Program& program, const Tensor& labels,
                                            std::int64_t global_batch, const Tensor& losses, bool training) const {
  const float scale = 1.0F / static_cast<float>(global_batch);
  if (from_logits(program))
    ops::sparse_cross_entropy(context, program.logits(), labels, scale, losses, training ? program.logits_gradient() : Tensor());
  else
    ops::sparse_cross_entropy_probabilities(context, program.output(), labels, scale, losses,
                                            training ? program.output_gradient() : Tensor());
}

void SparseCategoricalCrossentropyImpl::check_labels(const Array& labels, const Shape& output) const {
  if (output.rank() != 1)
    throw Error("sparse_categorical_crossentropy wants one score a class, a model output of shape (classes,); this model gives " +
                output.str());
  const bool column = labels.shape().rank() == 2 && labels.shape()[1] == 1;
  if (labels.shape().rank() != 1 && !column)
    throw Error("sparse_categorical_crossentropy wants one integer label a sample, an array of shape (samples,); got " +
                labels.shape().str());
  if (labels.dtype() != DType::int32) throw Error("sparse_categorical_crossentropy wants integer labels (int32); got float32");
  const std::int64_t classes = output[0];
  const auto* values = labels.data<std::int32_t>();
  for (std::int64_t i = 0; i < labels.size(); ++i)
    if (values[i] < 0 || values[i] >= classes)
      throw Error("Label " + std::to_string(values[i]) + " of sample " + std::to_string(i) + " is outside 0 ... " +
                  std::to_string(classes - 1) + ": the model has " + std::to_string(classes) + " classes");
}

}  // namespace lockstep
