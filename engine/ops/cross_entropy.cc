// Losses and running sums, as launches of our own kernels.
#include "engine/ops/cross_entropy.h"

#include "engine/device/launch.h"
#include "engine/kernels/loss_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

View<float> optional(const Tensor& tensor) { return tensor.defined() ? tensor.view() : View<float>{}; }

MatrixShape expect_shapes(const char* operation, const Tensor& scores, const Tensor& labels, const Tensor& losses, const Tensor& gradient) {
  const MatrixShape shape = as_matrix(scores);
  expect_size(operation, "the labels", labels, shape.rows);
  expect_size(operation, "the losses", losses, shape.rows);
  if (labels.defined() && labels.dtype() != DType::int32) throw Error(std::string(operation) + ": labels are int32.");
  if (gradient.defined()) expect_size(operation, "the gradient", gradient, scores.size());
  return shape;
}

}  // namespace

void sparse_cross_entropy(const OpContext& context, const Tensor& logits, const Tensor& labels, float scale, const Tensor& losses,
                          const Tensor& dlogits) {
  const auto [rows, columns] = expect_shapes("sparse_cross_entropy", logits, labels, losses, dlogits);
  if (rows == 0) return;
  launch(*context.stream, "sparse_cross_entropy", kernels::sparse_cross_entropy_cost(rows, columns, dlogits.defined()),
         grid_for_rows(rows, columns), kernels::sparse_cross_entropy, logits.read(), labels.read_i32(), scale, losses.view(),
         optional(dlogits), rows, columns);
}

void sparse_cross_entropy_probabilities(const OpContext& context, const Tensor& probabilities, const Tensor& labels, float scale,
                                        const Tensor& losses, const Tensor& dprobabilities) {
  const auto [rows, columns] = expect_shapes("sparse_cross_entropy_probabilities", probabilities, labels, losses, dprobabilities);
  if (rows == 0) return;
  launch(*context.stream, "sparse_cross_entropy_probabilities",
         kernels::sparse_cross_entropy_probabilities_cost(rows, columns, dprobabilities.defined()), grid_for_rows(rows, columns),
         kernels::sparse_cross_entropy_probabilities, probabilities.read(), labels.read_i32(), scale, losses.view(),
         optional(dprobabilities), rows, columns);
}

void add_to_sum(const OpContext& context, const Tensor& values, double* sums, int slot) {
  if (values.size() == 0) return;
  launch(*context.stream, "add_to_sum", kernels::add_to_sum_cost(values.size()), grid_for_rows(1, 128), kernels::add_to_sum, values.read(),
         View<double>{sums + slot, 1});
}

void weigh_samples(const OpContext& context, const Tensor& weights, const Tensor& losses, const Tensor& gradient) {
  const std::int64_t rows = losses.size();
  expect_size("weigh_samples", "the weights", weights, rows);
  if (rows == 0) return;
  const std::int64_t columns = gradient.defined() ? gradient.size() / rows : 0;
  launch(*context.stream, "weigh_samples", kernels::weigh_samples_cost(rows, columns, gradient.defined()), grid_for_rows(rows, columns),
         kernels::weigh_samples, weights.read(), losses.view(), optional(gradient), rows, columns);
}

void add_correct(const OpContext& context, const Tensor& scores, const Tensor& labels, const Tensor& weights, double* sums, int slot) {
  const auto [rows, columns] = as_matrix(scores);
  expect_size("add_correct", "the labels", labels, rows);
  if (rows == 0) return;
  launch(*context.stream, "add_correct", kernels::add_correct_cost(rows, columns), grid_for_rows(1, 128), kernels::add_correct,
         scores.read(), labels.read_i32(), optional_weights(weights), View<double>{sums + slot, 1}, rows, columns);
}

}  // namespace lockstep::ops
