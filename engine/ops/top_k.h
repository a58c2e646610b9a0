// Counting samples whose label is among the k best.
#pragma once

#include "engine/ops/op_context.h"

namespace lockstep::ops {

// sums[slot] += number of rows where fewer than k scores are above the label's; with weights, the sum of theirs.
void add_in_top_k(const OpContext& context, const Tensor& scores, const Tensor& labels, const Tensor& weights, int k, double* sums,
                  int slot);

}  // namespace lockstep::ops
