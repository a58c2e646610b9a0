// Rows of a table that are in use: packed so that they can travel, and summed over replicas.
#pragma once

#include <cuda_runtime.h>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep::kernels {

// packed(i) = the table's row rows[i]; zeros where rows[i] is negative.
__global__ void pack_rows(View<const float> table, View<const std::int32_t> rows, View<float> packed, std::int64_t columns);
inline Cost pack_rows_cost(std::int64_t rows, std::int64_t columns) {
  return {0, static_cast<double>(rows) * (4.0 + 8.0 * static_cast<double>(columns))};
}

// For each k the table's row rows[k] becomes the sum, in the order of the replicas, of those packed rows that positions(k, replica) names
// (each replica has packed `most` rows); a negative position is a replica that does not use the row. Other rows are left alone.
__global__ void merge_rows(View<const float> packed, View<const std::int32_t> rows, View<const std::int32_t> positions, View<float> table,
                           std::int64_t most, std::int64_t columns);
inline Cost merge_rows_cost(std::int64_t rows, std::int64_t replicas, std::int64_t columns) {
  const double n = static_cast<double>(rows) * static_cast<double>(replicas);
  return {n * static_cast<double>(columns), n * (4.0 + 4.0 * static_cast<double>(columns))};
}

// The row rows[i] of `from` is added to that of `to`; each row is named once at most.
__global__ void add_rows(View<const float> from, View<const std::int32_t> rows, View<float> to, std::int64_t columns);
inline Cost add_rows_cost(std::int64_t rows, std::int64_t columns) {
  return {static_cast<double>(rows * columns), static_cast<double>(rows) * (4.0 + 12.0 * static_cast<double>(columns))};
}

// The row rows[i] of `to` becomes that of `from`; other rows are left alone.
__global__ void copy_rows(View<const float> from, View<const std::int32_t> rows, View<float> to, std::int64_t columns);
inline Cost copy_rows_cost(std::int64_t rows, std::int64_t columns) {
  return {0, static_cast<double>(rows) * (4.0 + 8.0 * static_cast<double>(columns))};
}

}  // namespace lockstep::kernels
