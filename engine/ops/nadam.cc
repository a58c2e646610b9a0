#include "engine/ops/nadam.h"

#include "engine/device/launch.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void nadam(const OpContext& context, const NadamStep& step, const Tensor& gradient, const Tensor& squares, const Tensor& weights,
           const Tensor& m, const Tensor& v) {
  const std::int64_t n = weights.size();
  expect_size("nadam", "the gradient", gradient, n);
  if (squares.defined()) expect_size("nadam", "the squares", squares, n);
  expect_size("nadam", "m", m, n);
  expect_size("nadam", "v", v, n);
  if (n == 0) return;
  const View<const float> second = squares.defined() ? squares.read() : View<const float>{};
  launch(*context.stream, "nadam", kernels::nadam_cost(n), grid_for_elements(n), kernels::nadam, step, gradient.read(), second,
         weights.view(), m.view(), v.view());
}

void decay_weights(const OpContext& context, float decay, float rate, const Tensor& weights) {
  const std::int64_t n = weights.size();
  if (n == 0) return;
  launch(*context.stream, "decay_weights", kernels::decay_weights_cost(n), grid_for_elements(n), kernels::decay_weights, decay, rate,
         weights.view());
}

}  // namespace lockstep::ops
