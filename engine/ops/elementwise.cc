// Small things on flat buffers: copies are CUDA's, the rest are kernels.
#include "engine/ops/elementwise.h"

#include <algorithm>

#include <backend/tuning.h>

#include "engine/device/launch.h"
#include "engine/kernels/elementwise_kernels.h"
#include "engine/kernels/sum_kernels.h"
#include "engine/ops/op_check.h"
#include "lockstep/error.h"

namespace lockstep::ops {

void fill(const OpContext& context, float value, const Tensor& y) {
  if (y.size() == 0) return;
  launch(*context.stream, "fill", kernels::fill_cost(y.size()), grid_for_elements(y.size()), kernels::fill, value, y.view());
}

void copy(const OpContext& context, const Tensor& from, const Tensor& to) {
  expect_size("copy", "the destination", to, from.size());
  if (from.size() == 0) return;
  const DeviceGuard guard(context.stream->device());
  // Unified addressing: the driver knows on which devices both ends are.
  LOCKSTEP_CHECK(cudaMemcpyAsync(to.raw(), from.raw(), from.bytes(), cudaMemcpyDefault, context.stream->get()));
}

void upload(const OpContext& context, const void* host, const Tensor& to) {
  if (to.size() == 0) return;
  const DeviceGuard guard(context.stream->device());
  LOCKSTEP_CHECK(cudaMemcpyAsync(to.raw(), host, to.bytes(), cudaMemcpyHostToDevice, context.stream->get()));
}

void download(const OpContext& context, const Tensor& from, void* host) {
  if (from.size() == 0) return;
  const DeviceGuard guard(context.stream->device());
  LOCKSTEP_CHECK(cudaMemcpyAsync(host, from.raw(), from.bytes(), cudaMemcpyDeviceToHost, context.stream->get()));
}

void add(const OpContext& context, const Tensor& x, const Tensor& y) {
  expect_size("add", "the sum", y, x.size());
  if (x.size() == 0) return;
  launch(*context.stream, "add", kernels::add_cost(x.size()), grid_for_elements(x.size()), kernels::add, x.read(), y.view());
}

void add_several(const OpContext& context, const std::vector<Tensor>& xs, const Tensor& y) {
  if (xs.empty() || xs.size() > kMostAdded) throw Error("add_several: 1 to " + std::to_string(kMostAdded) + " buffers can be added.");
  if (xs.size() == 1) return add(context, xs.front(), y);
  for (const Tensor& x : xs) expect_size("add_several", "a summand", x, y.size());
  if (y.size() == 0) return;
  const auto read = [&](std::size_t i) { return i < xs.size() ? xs[i].read() : View<const float>{}; };
  launch(*context.stream, "add_several", kernels::add_several_cost(y.size(), static_cast<int>(xs.size())), grid_for_elements(y.size()),
         kernels::add_several, read(0), read(1), read(2), read(3), read(4), read(5), read(6), y.view());
}

std::size_t checksum_scratch() { return tuning::kChecksumParts * sizeof(std::uint64_t); }

void checksum(const OpContext& context, const Tensor& x, std::uint64_t* result) {
  const View<const std::uint32_t> words{static_cast<const std::uint32_t*>(x.raw()), x.size()};
  const View<std::uint64_t> total{result, 1};
  const bool several = context.scratch.defined() && context.scratch.bytes() >= checksum_scratch() && x.size() > tuning::kSmallChecksum;
  const std::int64_t parts = several ? tuning::kChecksumParts : 1;
  const View<std::uint64_t> sums = several ? View<std::uint64_t>{static_cast<std::uint64_t*>(context.scratch.raw()), parts} : total;
  launch(*context.stream, "checksum", kernels::checksum_cost(words.count), grid_for_rows(parts, 64), kernels::checksum, words, sums);
  if (several) {
    launch(*context.stream, "checksum_total", kernels::checksum_total_cost(parts), grid_for_rows(1, 64), kernels::checksum_total, sums,
           total);
  }
}

}  // namespace lockstep::ops
