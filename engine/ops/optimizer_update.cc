// Optimizer updates, as launches of our own kernels.
#include "engine/ops/optimizer_update.h"

#include "engine/device/launch.h"
#include "engine/kernels/optimizer_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void adam(const OpContext& context, const AdamStep& step, const Tensor& gradient, const Tensor& squares, const Tensor& weights,
          const Tensor& m, const Tensor& v) {
  const std::int64_t n = weights.size();
  expect_size("adam", "the gradient", gradient, n);
  if (squares.defined()) expect_size("adam", "the squares", squares, n);
  expect_size("adam", "m", m, n);
  expect_size("adam", "v", v, n);
  if (n == 0) return;
  const kernels::AdamConstants constants{step.alpha, static_cast<float>(1 - step.beta1), static_cast<float>(1 - step.beta2), step.epsilon};
  launch(*context.stream, "adam", kernels::adam_cost(n), grid_for_elements(n), kernels::adam, constants, gradient.read(),
         squares.defined() ? squares.read() : View<const float>{}, weights.view(), m.view(), v.view());
}

void sgd(const OpContext& context, const SgdStep& step, const Tensor& gradient, const Tensor& weights, const Tensor& momentum) {
  const std::int64_t n = weights.size();
  expect_size("sgd", "the gradient", gradient, n);
  if (n == 0) return;
  if (step.momentum == 0) {
    launch(*context.stream, "sgd", kernels::sgd_cost(n), grid_for_elements(n), kernels::sgd, step.rate, gradient.read(), weights.view());
    return;
  }
  expect_size("sgd", "the momentum", momentum, n);
  launch(*context.stream, "sgd_momentum", kernels::sgd_momentum_cost(n), grid_for_elements(n), kernels::sgd_momentum, step.rate,
         step.momentum, step.nesterov, gradient.read(), weights.view(), momentum.view());
}

}  // namespace lockstep::ops
