// Cross-entropy between integer labels and scores or probabilities of classes.
#pragma once

#include <atomic>
#include <string>

#include "engine/losses/loss.h"

namespace lockstep {

class SparseCategoricalCrossentropyImpl : public LossImpl {
 public:
  explicit SparseCategoricalCrossentropyImpl(bool from_logits) : from_logits_(from_logits) {}

  std::string name() const override { return "sparse_categorical_crossentropy"; }
  // Behind a softmax the scores are taken either way, as Keras does: exact where probabilities would have to be clipped.
  bool from_logits(const Program& program) const override;
  void run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch, const Tensor& losses,
           bool training) const override;
  void check_labels(const Array& labels, const Shape& output) const override;
  bool takes_logits() const { return from_logits_; }

 private:
  bool from_logits_;
  mutable std::atomic<bool> warned_{false};  // replicas ask from threads of their own
};

}  // namespace lockstep
