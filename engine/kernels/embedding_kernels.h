// Looking up rows of a table by number, and the gradient of that.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// y(ids x columns) = the table's rows. A number outside the table gives a row of NaN, never an access out of bounds.
__global__ void embedding_lookup(View<const std::int32_t> ids, View<const float> table, View<float> y, std::int64_t columns);
inline Cost embedding_lookup_cost(std::int64_t ids, std::int64_t columns) {
  return {0, static_cast<double>(ids) * (4.0 + 8.0 * static_cast<double>(columns))};
}

// dtable(rows x columns) = for each row the sum of those dy(ids x columns) that were looked up there, in the order of the ids; written
// whole. squares, where it has elements, is the same sum of dy^2. Every thread has a run of rows and goes through all ids once: no
// atomics, no sorting, and the work is linear in ids.
__global__ void embedding_gradient(View<const std::int32_t> ids, View<const float> dy, View<float> dtable, View<float> squares,
                                   std::int64_t columns);
inline Cost embedding_gradient_cost(std::int64_t ids, std::int64_t table, std::int64_t columns) {
  const double n = static_cast<double>(ids) * static_cast<double>(columns);
  return {n, 4.0 * static_cast<double>(table) + 12.0 * n};
}

}  // namespace lockstep::kernels
