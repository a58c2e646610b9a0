#include "engine/losses/dense_loss.h"

#include <iostream>

#include "engine/ops/dense_losses.h"
#include "lockstep/error.h"

namespace lockstep {

std::string DenseLossImpl::name() const {
  switch (kind_) {
    case Kind::categorical_crossentropy:
      return "categorical_crossentropy";
    case Kind::binary_crossentropy:
      return "binary_crossentropy";
    default:
      return "mean_squared_error";
  }
}

// Behind a softmax the categorical loss takes the scores either way, as Keras does: exact where probabilities would have to be clipped.
bool DenseLossImpl::from_logits(const Program& program) const {
  if (kind_ != Kind::categorical_crossentropy) return !program.softmax_output();
  if (from_logits_ && program.softmax_output() && !warned_.exchange(true))
    std::cerr << "Warning: categorical_crossentropy has from_logits(), but the model ends in a softmax: its outputs are probabilities. "
                 "The scores before the softmax are used. Fix: leave out one of the two.\n";
  return true;  // without a softmax the scores are the output, and the gradient goes there
}

void DenseLossImpl::run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch,
                        const Tensor& losses, bool training) const {
  using ops::DenseLoss;
  const float scale = 1.0F / static_cast<float>(global_batch);
  const bool scores = from_logits(program);
  const Tensor outputs = scores ? program.logits() : program.output();
  const Tensor gradient = !training ? Tensor() : scores ? program.logits_gradient() : program.output_gradient();
  DenseLoss which = DenseLoss::squared_error;
  if (kind_ == Kind::categorical_crossentropy)
    which = from_logits_ || program.softmax_output() ? DenseLoss::categorical_logits : DenseLoss::categorical_probabilities;
  if (kind_ == Kind::binary_crossentropy) which = from_logits_ ? DenseLoss::binary_logits : DenseLoss::binary_probabilities;
  ops::dense_loss(context, which, outputs, labels, scale, losses, gradient);
}

void DenseLossImpl::check_labels(const Array& labels, const Shape& output) const {
  if (labels.dtype() != DType::float32) throw Error(name() + " wants labels of type float32; got int32");
  if (kind_ == Kind::categorical_crossentropy && output.rank() != 1)
    throw Error("categorical_crossentropy wants one score a class, a model output of shape (classes,); this model gives " + output.str());
  const bool scalars = labels.shape().rank() == 1 && output.size() == 1;  // (n,) for outputs (n, 1)
  if (!scalars && (labels.shape().rank() == 0 || labels.shape().sample() != output))
    throw Error(name() + " wants labels shaped as the model's output, " + output.str() + " a sample; got an array of shape " +
                labels.shape().str());
}

}  // namespace lockstep
