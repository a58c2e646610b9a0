#include "engine/ops/clip.h"

#include <backend/tuning.h>
#include "engine/device/launch.h"
#include "engine/kernels/clip_kernels.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

void clip_value(const OpContext& context, float limit, const Tensor& x) {
  if (x.size() == 0) return;
  launch(*context.stream, "clip_value", kernels::clip_cost(x.size()), grid_for_elements(x.size()), kernels::clip_value, limit, x.view());
}

std::size_t clip_norm_scratch() { return kSquareSums * sizeof(double); }

void clip_norm(const OpContext& context, float limit, const Tensor& x) {
  expect_scratch("clip_norm", context, clip_norm_scratch());
  if (x.size() == 0) return;
  const View<double> parts{static_cast<double*>(context.scratch.raw()), kSquareSums};
  launch(*context.stream, "square_sums", kernels::clip_cost(x.size()), grid_for_rows(kSquareSums, 64), kernels::square_sums, x.read(),
         parts);
  launch(*context.stream, "clip_norm", kernels::clip_cost(x.size()),
         grid_for_rows((x.size() + tuning::kClipRun - 1) / tuning::kClipRun, 256), kernels::clip_norm, limit, parts, x.view());
}

void square_sums(const OpContext& context, const Tensor& x, double* parts) {
  launch(*context.stream, "square_sums", kernels::clip_cost(x.size()), grid_for_rows(kSquareSums, 64), kernels::square_sums, x.read(),
         View<double>{parts, kSquareSums});
}

}  // namespace lockstep::ops
