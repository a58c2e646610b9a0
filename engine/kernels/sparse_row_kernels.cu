// Rows of a table that are in use: packed so that they can travel, and summed over replicas.
#include "sparse_row_kernels.h"

#include "kernel_support.h"

namespace lockstep::kernels {

__global__ void pack_rows(View<const float> table, View<const std::int32_t> rows, View<float> packed, std::int64_t columns) {
  each_in_grid(rows.count, [=](std::int64_t i) {
    const std::int64_t row = rows[i];
    for (std::int64_t c = 0; c < columns; ++c) packed[i * columns + c] = row >= 0 ? table[row * columns + c] : 0.0F;
  });
}

__global__ void merge_rows(View<const float> packed, View<const std::int32_t> rows, View<const std::int32_t> positions, View<float> table,
                           std::int64_t most, std::int64_t columns) {
  const std::int64_t replicas = rows.count > 0 ? positions.count / rows.count : 0;
  each_in_grid(rows.count, [=](std::int64_t k) {
    float* to = table.data + static_cast<std::int64_t>(rows[k]) * columns;
    for (std::int64_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (std::int64_t r = 0; r < replicas; ++r) {
        const std::int64_t at = positions[k * replicas + r];
        if (at >= 0) sum += packed[(r * most + at) * columns + c];
      }
      to[c] = sum;
    }
  });
}

}  // namespace lockstep::kernels
