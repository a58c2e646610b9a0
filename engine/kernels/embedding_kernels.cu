// Looking up rows of a table by number, and the gradient of that.
#include <cmath>

#include <backend/kernel_support.h>
#include <backend/lanes.h>
#include "engine/kernels/embedding_kernels.h"

namespace lockstep::kernels {

__global__ void embedding_lookup(View<const std::int32_t> ids, View<const float> table, View<float> y, std::int64_t columns) {
  const std::int64_t rows = table.count / columns;
  struct Row {
    const float* from;
    float* to;
    bool known;
  };
  const auto at_row = [=](std::int64_t i) {
    const std::int64_t id = ids[i];
    const bool known = id >= 0 && id < rows;
    prefetch_row(i, ids.count, [=](std::int64_t later) { return table.data + ids[later] * columns; });
    return Row{table.data + (known ? id * columns : 0), y.data + i * columns, known};
  };
  each_in_rows(ids.count, columns, at_row, [=](const Row& row, std::int64_t c) { row.to[c] = row.known ? row.from[c] : NAN; });
}

__global__ void embedding_gradient(View<const std::int32_t> ids, View<const float> dy, View<float> dtable, View<float> squares,
                                   std::int64_t columns) {
  const std::int64_t rows = dtable.count / columns;
  const bool squared = squares.count > 0;
  // The threads of a block clear their rows together, since those lie side by side.
  each_share_of_blocks(rows, [=](std::int64_t first, std::int64_t last) {
    float* sums = dtable.data + first * columns;
    each_thread((last - first) * columns, [=](std::int64_t k) { sums[k] = 0.0F; });
    float* products = squares.data + first * columns;
    if (squared) each_thread((last - first) * columns, [=](std::int64_t k) { products[k] = 0.0F; });
  });
  __syncthreads();
  each_share(rows, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = 0; i < ids.count; ++i) {
      const std::int64_t id = ids[i];
      prefetch_row_for_writing(i, ids.count, [=](std::int64_t later) { return dtable.data + ids[later] * columns; });
      if (id < first || id >= last) continue;
      const float* from = dy.data + i * columns;
      float* to = dtable.data + id * columns;
      for (std::int64_t c = 0; c < columns; ++c) to[c] += from[c];
      if (!squared) continue;
      float* square = squares.data + id * columns;
      for (std::int64_t c = 0; c < columns; ++c) square[c] += from[c] * from[c];
    }
  });
}

}  // namespace lockstep::kernels
