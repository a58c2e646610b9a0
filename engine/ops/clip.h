// Clipping gradients in place.
#pragma once

#include "engine/kernels/sum_order.h"
#include "engine/ops/op_context.h"

namespace lockstep::ops {

void clip_value(const OpContext& context, float limit, const Tensor& x);
// x is scaled down where its Euclidean norm is above the limit. Needs clip_norm_scratch() bytes of scratch.
void clip_norm(const OpContext& context, float limit, const Tensor& x);
std::size_t clip_norm_scratch();
// The sum of squares in kSquareSums parts, to be added up in their order.
using sum_order::kSquareSums;
void square_sums(const OpContext& context, const Tensor& x, double* parts);

}  // namespace lockstep::ops
