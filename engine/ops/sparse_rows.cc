#include "engine/ops/sparse_rows.h"

#include "engine/device/launch.h"
#include "engine/kernels/sparse_row_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void pack_rows(const OpContext& context, const Tensor& table, const Tensor& rows, const Tensor& packed) {
  const std::int64_t columns = table.shape()[-1];
  expect_size("pack_rows", "the packed rows", packed, rows.size() * columns);
  if (rows.size() == 0) return;
  launch(*context.stream, "pack_rows", kernels::pack_rows_cost(rows.size(), columns), grid_for_elements(packed.size()), kernels::pack_rows,
         table.read(), rows.read_i32(), packed.view(), columns);
}

void merge_rows(const OpContext& context, const Tensor& packed, const Tensor& rows, const Tensor& positions, const Tensor& table) {
  const std::int64_t columns = table.shape()[-1];
  expect_size("merge_rows", "the positions", positions, rows.size() * packed.shape()[0]);
  if (rows.size() == 0) return;
  launch(*context.stream, "merge_rows", kernels::merge_rows_cost(rows.size(), packed.shape()[0], columns),
         grid_for_rows(rows.size(), columns), kernels::merge_rows, packed.read(), rows.read_i32(), positions.read_i32(), table.view(),
         packed.shape()[1], columns);
}

void add_rows(const OpContext& context, const Tensor& from, const Tensor& rows, const Tensor& to) {
  const std::int64_t columns = to.shape()[-1];
  expect_size("add_rows", "what is added", from, to.size());
  if (rows.size() == 0) return;
  launch(*context.stream, "add_rows", kernels::add_rows_cost(rows.size(), columns), grid_for_elements(rows.size() * columns),
         kernels::add_rows, from.read(), rows.read_i32(), to.view(), columns);
}

void copy_rows(const OpContext& context, const Tensor& from, const Tensor& rows, const Tensor& to) {
  const std::int64_t columns = to.shape()[-1];
  expect_size("copy_rows", "what is copied", from, to.size());
  if (rows.size() == 0) return;
  launch(*context.stream, "copy_rows", kernels::copy_rows_cost(rows.size(), columns), grid_for_elements(rows.size() * columns),
         kernels::copy_rows, from.read(), rows.read_i32(), to.view(), columns);
}

}  // namespace lockstep::ops
