// Losses: one value per sample, and the gradient of their weighted mean over the *global* batch.
#pragma once

#include <memory>
#include <string>

#include "engine/nn/program.h"
#include "engine/ops/op_context.h"

namespace lockstep {

class LossImpl {
 public:
  virtual ~LossImpl() = default;
  virtual std::string name() const = 0;  // "sparse_categorical_crossentropy"
  // Should the program's backward start at the logits (skipping a final softmax)?
  virtual bool from_logits(const Program& program) const = 0;
  // losses(batch) and, in training, the gradient into program.logits_gradient() or output_gradient(), scaled by 1 / global_batch.
  virtual void run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch, const Tensor& losses,
                   bool training) const = 0;
  virtual DType label_type() const { return DType::int32; }
  // Checks labels on the host before anything is uploaded: a sentence naming the label, the sample and the range.
  virtual void check_labels(const Array& labels, const Shape& output) const = 0;
};

std::shared_ptr<LossImpl> make_loss(const std::string& name);  // "sparse_categorical_crossentropy"; an unknown name is an Error

}  // namespace lockstep
