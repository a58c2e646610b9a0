// One element at a time: sums, a ReLU with an upper bound, scaling, dropout. Where it says so, the output may be the input.
#pragma once

#include "engine/kernels/random_key.h"
#include "engine/ops/op_context.h"

namespace lockstep::ops {

void sum_of_two(const OpContext& context, const Tensor& x, const Tensor& y, const Tensor& z);                         // z = x + y
void clip(const OpContext& context, const Tensor& x, const Tensor& y, float low, float high);                         // y may be x
void clip_gradient(const OpContext& context, const Tensor& y, const Tensor& dy, float low, float high);               // in place
void scale_and_shift(const OpContext& context, const Tensor& x, const Tensor& y, float factor, float offset);         // y may be x
void dropout(const OpContext& context, const kernels::RandomKey& key, float rate, const Tensor& x, const Tensor& y);  // y may be x

}  // namespace lockstep::ops
