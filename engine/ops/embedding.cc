#include "engine/ops/embedding.h"

#include <algorithm>

#include <backend/tuning.h>

#include "engine/device/launch.h"
#include "engine/kernels/embedding_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void embedding_lookup(const OpContext& context, const Tensor& ids, const Tensor& table, const Tensor& y) {
  const std::int64_t columns = table.shape()[-1];
  expect_size("embedding_lookup", "the output", y, ids.size() * columns);
  if (ids.size() == 0) return;
  launch(*context.stream, "embedding_lookup", kernels::embedding_lookup_cost(ids.size(), columns), grid_for_elements(y.size()),
         kernels::embedding_lookup, ids.read_i32(), table.read(), y.view(), columns);
}

void embedding_gradient(const OpContext& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable, const Tensor& squares) {
  const MatrixShape table = as_matrix(dtable);
  expect_size("embedding_gradient", "the output's gradient", dy, ids.size() * table.columns);
  if (squares.defined()) expect_size("embedding_gradient", "the squares", squares, dtable.size());
  const View<float> second = squares.defined() ? squares.view() : View<float>{};
  launch(*context.stream, "embedding_gradient", kernels::embedding_gradient_cost(ids.size(), dtable.size(), table.columns),
         grid_for_elements(std::min(table.rows, tuning::kEmbeddingGradientThreads)), kernels::embedding_gradient, ids.read_i32(), dy.read(),
         dtable.view(), second, table.columns);
}

}  // namespace lockstep::ops
