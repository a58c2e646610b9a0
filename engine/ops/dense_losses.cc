#include "engine/ops/dense_losses.h"

#include "engine/device/launch.h"
#include "engine/kernels/dense_loss_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {
namespace {

struct Entry {
  const char* name;
  void (*kernel)(View<const float>, View<const float>, float, View<float>, View<float>, std::int64_t, std::int64_t);
};

Entry entry(DenseLoss which) {
  switch (which) {
    case DenseLoss::categorical_logits:
      return {"categorical_cross_entropy", kernels::categorical_cross_entropy};
    case DenseLoss::categorical_probabilities:
      return {"categorical_cross_entropy_probabilities", kernels::categorical_cross_entropy_probabilities};
    case DenseLoss::binary_logits:
      return {"binary_cross_entropy", kernels::binary_cross_entropy};
    case DenseLoss::binary_probabilities:
      return {"binary_cross_entropy_probabilities", kernels::binary_cross_entropy_probabilities};
    default:
      return {"mean_squared_error", kernels::mean_squared_error};
  }
}

}  // namespace

void dense_loss(const OpContext& context, DenseLoss which, const Tensor& outputs, const Tensor& targets, float scale, const Tensor& losses,
                const Tensor& gradient) {
  const std::int64_t rows = losses.size();
  if (rows == 0) return;
  const std::int64_t columns = outputs.size() / rows;
  const auto [name, kernel] = entry(which);
  expect_size(name, "the labels", targets, outputs.size());
  if (gradient.defined()) expect_size(name, "the gradient", gradient, outputs.size());
  launch(*context.stream, name, kernels::dense_loss_cost(rows, columns, gradient.defined()), grid_for_rows(rows, columns), kernel,
         outputs.read(), targets.read(), scale, losses.view(), gradient.defined() ? gradient.view() : View<float>{}, rows, columns);
}

void add_categorical_correct(const OpContext& context, const Tensor& scores, const Tensor& targets, const Tensor& weights, double* sums,
                             int slot) {
  const MatrixShape shape = as_matrix(scores);
  expect_size("add_categorical_correct", "the labels", targets, scores.size());
  if (shape.rows == 0) return;
  launch(*context.stream, "add_categorical_correct", kernels::dense_loss_cost(shape.rows, shape.columns, false), grid_for_rows(1, 128),
         kernels::add_categorical_correct, scores.read(), targets.read(), optional_weights(weights), View<double>{sums + slot, 1},
         shape.rows, shape.columns);
}

void add_binary_correct(const OpContext& context, const Tensor& scores, const Tensor& targets, const Tensor& weights, float threshold,
                        double* sums, int slot) {
  const std::int64_t rows = scores.shape()[0];
  expect_size("add_binary_correct", "the labels", targets, scores.size());
  if (rows == 0) return;
  launch(*context.stream, "add_binary_correct", kernels::dense_loss_cost(rows, scores.size() / rows, false), grid_for_rows(1, 128),
         kernels::add_binary_correct, scores.read(), targets.read(), optional_weights(weights), threshold, View<double>{sums + slot, 1},
         rows, scores.size() / rows);
}

}  // namespace lockstep::ops
