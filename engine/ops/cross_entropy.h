// Softmax and cross-entropy with integer labels, fused, with the gradient; and the running sums metrics are made of.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

// losses(batch) = -log softmax(logits)[label] (max-subtracted); if dlogits is defined, dlogits = (softmax - onehot) * scale,
// where scale is 1 / global batch: gradients are weighted by samples, not by replicas.
// A label outside [0, classes) makes that sample's loss NaN and its gradient NaN: never an access out of bounds.
void sparse_cross_entropy(const OpContext& context, const Tensor& logits, const Tensor& labels, float scale, const Tensor& losses,
                          const Tensor& dlogits);
// The same from probabilities (Keras clips them to [1e-7, 1 - 1e-7]).
void sparse_cross_entropy_probabilities(const OpContext& context, const Tensor& probabilities, const Tensor& labels, float scale,
                                        const Tensor& losses, const Tensor& dprobabilities);

// Sums kept on the device, in double, per replica: they are read when totals are asked for.
struct RunningSums {  // an array of doubles on the device
  Tensor sums;        // raw memory of slots * sizeof(double)
};
// sums[slot] += sum of values, in an order that depends on the count alone.
void add_to_sum(const OpContext& context, const Tensor& values, double* sums, int slot);
// losses and, where it is defined, the gradient, sample by sample times its weight.
void weigh_samples(const OpContext& context, const Tensor& weights, const Tensor& losses, const Tensor& gradient);
// sums[slot] += number of rows whose largest score (the first, on a tie) is at the label; with weights, the sum of theirs.
void add_correct(const OpContext& context, const Tensor& scores, const Tensor& labels, const Tensor& weights, double* sums, int slot);

}  // namespace lockstep::ops
