// Losses whose labels are as many numbers as the model's outputs: categorical and binary cross-entropy, squared error.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "engine/losses/loss.h"

namespace lockstep {

class DenseLossImpl : public LossImpl {
 public:
  enum class Kind { categorical_crossentropy, binary_crossentropy, mean_squared_error };
  explicit DenseLossImpl(Kind kind, bool from_logits = false) : kind_(kind), from_logits_(from_logits) {}

  std::string name() const override;
  bool from_logits(const Program& program) const override;
  void run(const OpContext& context, const Program& program, const Tensor& labels, std::int64_t global_batch, const Tensor& losses,
           bool training) const override;
  DType label_type() const override { return DType::float32; }
  void check_labels(const Array& labels, const Shape& output) const override;
  Kind kind() const { return kind_; }
  bool takes_logits() const { return from_logits_; }

 private:
  Kind kind_;
  bool from_logits_;
  mutable std::atomic<bool> warned_{false};
};

}  // namespace lockstep
