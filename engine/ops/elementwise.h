// Small things on flat buffers: fill, copy, sum of several, checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ops/op_context.h"

namespace lockstep::ops {

void fill(const OpContext& context, float value, const Tensor& y);
void copy(const OpContext& context, const Tensor& from, const Tensor& to);  // between any devices
void upload(const OpContext& context, const void* host,
            const Tensor& to);  // asynchronous; host memory stays valid until the stream passed it
void download(const OpContext& context, const Tensor& from, void* host);  // asynchronous
void add(const OpContext& context, const Tensor& x, const Tensor& y);     // y += x
// y += x for up to kMostAdded of them, one after the other, in one pass over y.
constexpr std::size_t kMostAdded = 7;
void add_several(const OpContext& context, const std::vector<Tensor>& xs, const Tensor& y);
// A 64-bit fingerprint of the bits (not the values) of x, written to *result on the device. Any changed bit changes it. With
// checksum_scratch() bytes of scratch it is made by many blocks, without it by one; the result is the same.
void checksum(const OpContext& context, const Tensor& x, std::uint64_t* result);
std::size_t checksum_scratch();

}  // namespace lockstep::ops
