// Images, NHWC, moved or averaged: zero padding, the mean over everything, random flips.
#pragma once

#include "engine/kernels/random_key.h"
#include "engine/ops/op_context.h"

namespace lockstep::ops {

struct PaddingSpec {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;  // of the smaller image
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};
void zero_padding(const OpContext& context, const PaddingSpec& spec, const Tensor& x, const Tensor& y);
void zero_padding_gradient(const OpContext& context, const PaddingSpec& spec, const Tensor& dy, const Tensor& dx);

// x (batch, ..., channels) -> y (batch, channels): the mean over what stands between.
void global_average_pooling(const OpContext& context, const Tensor& x, const Tensor& y);
void global_average_pooling_gradient(const OpContext& context, const Tensor& dy, const Tensor& dx);

// x (batch, height, width, channels); each sample is mirrored or not. Also takes a gradient back.
void random_flip(const OpContext& context, const kernels::RandomKey& key, bool horizontal, bool vertical, const Tensor& x, const Tensor& y);

}  // namespace lockstep::ops
