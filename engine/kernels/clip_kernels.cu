// Clipping gradients, by value or by norm.
#include <cmath>

#include <backend/kernel_support.h>
#include <backend/tuning.h>
#include "engine/kernels/clip_kernels.h"

namespace lockstep::kernels {

__global__ void clip_value(float limit, View<float> x) {
  each_in_grid(x.count, [=](std::int64_t i) { x[i] = x[i] > limit ? limit : (x[i] < -limit ? -limit : x[i]); });
}

__global__ void square_sums(View<const float> x, View<double> parts) {
  const std::int64_t run = (x.count + parts.count - 1) / parts.count;
  each_block(parts.count, [=](std::int64_t k) {
    const std::int64_t first = k * run < x.count ? k * run : x.count;
    const std::int64_t n = x.count - first < run ? x.count - first : run;
    const double sum = lane_sum<64>(n, [=](std::int64_t i) { return static_cast<double>(x[first + i]) * x[first + i]; });
    each_thread(1, [=](std::int64_t) { parts[k] = sum; });
  });
}

// Every block adds the parts up for itself: they are few, and so one launch is enough.
__global__ void clip_norm(float limit, View<const double> parts, View<float> x) {
  constexpr std::int64_t kRun = tuning::kClipRun;
  each_block((x.count + kRun - 1) / kRun, [=](std::int64_t k) {
    const auto norm = static_cast<float>(sqrt(lane_sum<64>(parts.count, [=](std::int64_t i) { return parts[i]; })));
    const float bound = norm > limit ? norm : (norm == norm ? limit : norm);  // a NaN stays one
    const std::int64_t n = x.count - k * kRun < kRun ? x.count - k * kRun : kRun;
    each_thread(n, [=](std::int64_t i) { x[k * kRun + i] = x[k * kRun + i] * limit / bound; });
  });
}

}  // namespace lockstep::kernels
