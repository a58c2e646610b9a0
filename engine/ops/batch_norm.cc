// Batch normalisation, as launches of our own kernels.
#include "engine/ops/batch_norm.h"

#include "engine/device/launch.h"
#include "engine/kernels/batch_norm_kernels.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

View<const float> read_or_none(const Tensor& tensor) { return tensor.defined() ? tensor.read() : View<const float>{}; }
View<float> view_or_none(const Tensor& tensor) { return tensor.defined() ? tensor.view() : View<float>{}; }

// Scratch holds the chunks' partial sums, and in front of them the totals.
View<float> totals_of(const OpContext& context, std::int64_t columns) { return {context.scratch.f32(), 2 * columns}; }
View<float> partial_of(const OpContext& context, std::int64_t rows, std::int64_t columns) {
  return {context.scratch.f32() + 2 * columns, 2 * kernels::row_chunks(rows) * columns};
}

View<float> folded_in(const Tensor& saved, std::int64_t columns) { return {saved.f32(), kernels::BatchNormFolded::count * columns}; }

void apply(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved, const Tensor& y) {
  const auto [rows, columns] = as_matrix(x);
  launch(*context.stream, "batch_norm_apply", kernels::batch_norm_apply_cost(rows, columns), grid_for_rows(rows, columns),
         kernels::batch_norm_apply, x.read(), folded_in(saved, columns), y.view(), rows, columns, spec.low, spec.high);
}

}  // namespace

std::size_t batch_norm_scratch(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(2 * (kernels::row_chunks(rows) + 1) * columns) * sizeof(float);
}

std::size_t batch_norm_synchronized_scratch(std::int64_t rows, std::int64_t columns) {
  const std::int64_t doubles = 2 * kernels::row_chunks(rows) * columns;
  return static_cast<std::size_t>(doubles) * sizeof(double) +
         static_cast<std::size_t>(kernels::BatchNormShared::count * columns) * sizeof(float);
}

std::size_t batch_norm_saved(std::int64_t columns) {
  return static_cast<std::size_t>(kernels::BatchNormFolded::count * columns) * sizeof(float);
}

void batch_norm_training(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                         const Tensor& saved, const Tensor& y) {
  const auto [rows, columns] = as_matrix(x);
  expect_size("batch_norm_training", "the output", y, x.size());
  expect_size("batch_norm_training", "the moving mean", variables.moving_mean, columns);
  expect_size("batch_norm_training", "the moving variance", variables.moving_variance, columns);
  expect_scratch("batch_norm_training", context, batch_norm_scratch(rows, columns));
  if (x.size() == 0) return;
  const View<float> partial = partial_of(context, rows, columns);
  launch(*context.stream, "batch_norm_moments", kernels::batch_norm_moments_cost(rows, columns),
         grid_for_rows(kernels::row_chunks(rows), columns), kernels::batch_norm_moments, x.read(), partial, rows, columns);
  launch(*context.stream, "batch_norm_fold_batch", kernels::batch_norm_fold_batch_cost(rows, columns), grid_for_elements(columns),
         kernels::batch_norm_fold_batch, partial, read_or_none(variables.gamma), read_or_none(variables.beta), variables.moving_mean.view(),
         variables.moving_variance.view(), folded_in(saved, columns), rows, columns, spec.momentum, spec.epsilon);
  apply(context, spec, x, saved, y);
}

void batch_norm_synchronized(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                             const Tensor& saved, const Tensor& y, const BatchNormGroup& group) {
  const auto [rows, columns] = as_matrix(x);
  const std::int64_t replicas = group.replicas ? group.replicas->size() : 1;
  const std::int64_t chunks = kernels::row_chunks(rows);
  const std::int64_t own = kernels::BatchNormShared::count * columns;
  expect_size("batch_norm_synchronized", "the output", y, x.size());
  expect_size("batch_norm_synchronized", "the moving mean", variables.moving_mean, columns);
  expect_size("batch_norm_synchronized", "the moving variance", variables.moving_variance, columns);
  expect_scratch("batch_norm_synchronized", context, batch_norm_synchronized_scratch(rows, columns));
  if (x.size() == 0) return;
  const View<double> partial{static_cast<double*>(context.scratch.raw()), 2 * chunks * columns};
  launch(*context.stream, "batch_norm_sums", kernels::batch_norm_sums_cost(rows, columns), grid_for_rows(chunks, columns),
         kernels::batch_norm_sums, x.read(), partial, rows, columns);
  // A row with room for all replicas' sums, zero but for this replica's: the sum of these rows has all side by side.
  const Tensor shared = replicas == 1 ? Tensor(partial.data + partial.count, {own}) : group.replicas->scratch(group.member, replicas * own);
  if (replicas > 1) fill(context, 0.0F, shared);
  launch(*context.stream, "batch_norm_share", kernels::batch_norm_share_cost(rows, columns), grid_for_elements(columns),
         kernels::batch_norm_share, View<const double>{partial.data, partial.count},
         View<float>{shared.f32() + (replicas == 1 ? 0 : group.member * own), own}, rows, columns);
  if (replicas > 1) group.replicas->sum(group.member, shared);
  launch(*context.stream, "batch_norm_fold_replicas", kernels::batch_norm_fold_replicas_cost(replicas, columns), grid_for_elements(columns),
         kernels::batch_norm_fold_replicas, shared.read(), read_or_none(variables.gamma), read_or_none(variables.beta),
         variables.moving_mean.view(), variables.moving_variance.view(), folded_in(saved, columns), replicas, columns, spec.momentum,
         spec.epsilon);
  apply(context, spec, x, saved, y);
}

void batch_norm_inference(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const BatchNormVariables& variables,
                          const Tensor& saved, const Tensor& y) {
  const auto [rows, columns] = as_matrix(x);
  expect_size("batch_norm_inference", "the output", y, x.size());
  expect_size("batch_norm_inference", "the moving mean", variables.moving_mean, columns);
  expect_size("batch_norm_inference", "the moving variance", variables.moving_variance, columns);
  if (x.size() == 0) return;
  launch(*context.stream, "batch_norm_fold_moving", kernels::batch_norm_fold_moving_cost(columns), grid_for_elements(columns),
         kernels::batch_norm_fold_moving, variables.moving_mean.read(), variables.moving_variance.read(), read_or_none(variables.gamma),
         read_or_none(variables.beta), folded_in(saved, columns), spec.epsilon);
  apply(context, spec, x, saved, y);
}

void batch_norm_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved, const Tensor& dy,
                         const Tensor& dgamma, const Tensor& dbeta) {
  const auto [rows, columns] = as_matrix(x);
  expect_size("batch_norm_gradient", "the output's gradient", dy, x.size());
  expect_scratch("batch_norm_gradient", context, batch_norm_scratch(rows, columns));
  const std::int64_t chunks = kernels::row_chunks(rows);
  const View<float> partial = partial_of(context, rows, columns);
  launch(*context.stream, "batch_norm_gradient_sums", kernels::batch_norm_gradient_sums_cost(rows, columns), grid_for_rows(chunks, columns),
         kernels::batch_norm_gradient_sums, x.read(), dy.read(), folded_in(saved, columns), partial, rows, columns, spec.low, spec.high);
  launch(*context.stream, "batch_norm_gradient_total", kernels::batch_norm_gradient_total_cost(chunks, columns), grid_for_elements(columns),
         kernels::batch_norm_gradient_total, partial, totals_of(context, columns), view_or_none(dgamma), view_or_none(dbeta), chunks,
         columns);
}

void batch_norm_input_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved, const Tensor& dy,
                               const Tensor& dx, const BatchNormGroup& group) {
  const auto [rows, columns] = as_matrix(x);
  const bool shared = group.replicas && group.replicas->size() > 1;
  const View<float> totals = totals_of(context, columns);
  if (shared) group.replicas->sum(group.member, Tensor(totals.data, {totals.count}));
  expect_size("batch_norm_input_gradient", "the output's gradient", dy, x.size());
  expect_size("batch_norm_input_gradient", "the input's gradient", dx, x.size());
  launch(*context.stream, "batch_norm_gradient_apply", kernels::batch_norm_gradient_apply_cost(rows, columns), grid_for_rows(rows, columns),
         kernels::batch_norm_gradient_apply, x.read(), dy.read(), folded_in(saved, columns), totals, dx.view(), rows, columns,
         shared ? group.all_rows : rows, spec.low, spec.high);
}

// The sums over the batch are what makes the trained gradient differ from this one: here they are zero.
void batch_norm_frozen_input_gradient(const OpContext& context, const BatchNormSpec& spec, const Tensor& x, const Tensor& saved,
                                      const Tensor& dy, const Tensor& dx) {
  const auto [rows, columns] = as_matrix(x);
  expect_scratch("batch_norm_frozen_input_gradient", context, batch_norm_scratch(rows, columns));
  fill(context, 0.0F, Tensor(context.scratch.f32(), Shape{2 * columns}));
  batch_norm_input_gradient(context, spec, x, saved, dy, dx);
}

}  // namespace lockstep::ops
