// Rows of a table that are in use: packed so that they can travel, and summed over replicas.
#include "engine/kernels/sparse_row_kernels.h"

#include <backend/kernel_support.h>
#include <backend/lanes.h>

namespace lockstep::kernels {

namespace {

// The same rows of two tables, each element given to `action` as (from, to).
template <typename Action>
LOCKSTEP_DEVICE void each_in_both(View<const float> from, View<const std::int32_t> rows, View<float> to, std::int64_t columns,
                                  Action action) {
  struct Row {
    const float* from;
    float* to;
  };
  const auto at_row = [=](std::int64_t i) {
    const std::int64_t row = rows[i] * columns;
    prefetch_row(i, rows.count, [=](std::int64_t later) { return from.data + rows[later] * columns; });
    prefetch_row_for_writing(i, rows.count, [=](std::int64_t later) { return to.data + rows[later] * columns; });
    return Row{from.data + row, to.data + row};
  };
  each_in_rows(rows.count, columns, at_row, [=](const Row& row, std::int64_t c) { action(row.from[c], row.to[c]); });
}

}  // namespace

__global__ void pack_rows(View<const float> table, View<const std::int32_t> rows, View<float> packed, std::int64_t columns) {
  struct Row {
    const float* from;
    float* to;
    bool used;
  };
  const auto at_row = [=](std::int64_t i) {
    const std::int64_t row = rows[i];
    prefetch_row(i, rows.count, [=](std::int64_t later) { return table.data + rows[later] * columns; });
    return Row{table.data + (row >= 0 ? row * columns : 0), packed.data + i * columns, row >= 0};
  };
  each_in_rows(rows.count, columns, at_row, [=](const Row& row, std::int64_t c) { row.to[c] = row.used ? row.from[c] : 0.0F; });
}

__global__ void merge_rows(View<const float> packed, View<const std::int32_t> rows, View<const std::int32_t> positions, View<float> table,
                           std::int64_t most, std::int64_t columns) {
  const std::int64_t replicas = rows.count > 0 ? positions.count / rows.count : 0;
  each_block(rows.count, [=](std::int64_t k) {
    float* to = table.data + static_cast<std::int64_t>(rows[k]) * columns;
    each_thread(columns, [=](std::int64_t c) { to[c] = 0; });
    for (std::int64_t r = 0; r < replicas; ++r) {
      const std::int64_t at = positions[k * replicas + r];
      const bool used = at >= 0;  // as a select: which rows a replica uses is unpredictable
      const float* from = packed.data + (r * most + (used ? at : 0)) * columns;
      each_thread(columns, [=](std::int64_t c) { to[c] += used ? from[c] : 0.0F; });
    }
  });
}

__global__ void add_rows(View<const float> from, View<const std::int32_t> rows, View<float> to, std::int64_t columns) {
  each_in_both(from, rows, to, columns, [](float value, float& sum) { sum += value; });
}

__global__ void copy_rows(View<const float> from, View<const std::int32_t> rows, View<float> to, std::int64_t columns) {
  each_in_both(from, rows, to, columns, [](float value, float& copy) { copy = value; });
}

}  // namespace lockstep::kernels
