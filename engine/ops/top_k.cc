#include "engine/ops/top_k.h"

#include "engine/device/launch.h"
#include "engine/kernels/metric_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void add_in_top_k(const OpContext& context, const Tensor& scores, const Tensor& labels, const Tensor& weights, int k, double* sums,
                  int slot) {
  const MatrixShape shape = as_matrix(scores);
  expect_size("add_in_top_k", "the labels", labels, shape.rows);
  if (shape.rows == 0) return;
  launch(*context.stream, "add_in_top_k", kernels::add_in_top_k_cost(shape.rows, shape.columns), grid_for_rows(1, 128),
         kernels::add_in_top_k, scores.read(), labels.read_i32(), optional_weights(weights), View<double>{sums + slot, 1},
         static_cast<std::int64_t>(k), shape.rows, shape.columns);
}

}  // namespace lockstep::ops
