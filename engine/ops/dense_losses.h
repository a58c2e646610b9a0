// Losses whose labels are as many numbers as the model's outputs; the first axis counts samples.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

enum class DenseLoss { categorical_logits, categorical_probabilities, binary_logits, binary_probabilities, squared_error };

// losses (samples) and, where it is defined, the gradient times `scale`.
void dense_loss(const OpContext& context, DenseLoss which, const Tensor& outputs, const Tensor& targets, float scale, const Tensor& losses,
                const Tensor& gradient);

// Weights as in add_correct.
void add_categorical_correct(const OpContext& context, const Tensor& scores, const Tensor& targets, const Tensor& weights, double* sums,
                             int slot);
void add_binary_correct(const OpContext& context, const Tensor& scores, const Tensor& targets, const Tensor& weights, float threshold,
                        double* sums, int slot);

}  // namespace lockstep::ops
