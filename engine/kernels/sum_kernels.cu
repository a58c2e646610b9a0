// The sum of several flat buffers, in one pass.
#include "sum_kernels.h"

#include "kernel_support.h"

namespace lockstep::kernels {

__global__ void add_several(View<const float> a, View<const float> b, View<const float> c, View<const float> d, View<float> y) {
  if (d.count > 0) {
    each_in_grid(y.count, [=](std::int64_t i) { y[i] = (((y[i] + a[i]) + b[i]) + c[i]) + d[i]; });
  } else if (c.count > 0) {
    each_in_grid(y.count, [=](std::int64_t i) { y[i] = ((y[i] + a[i]) + b[i]) + c[i]; });
  } else {
    each_in_grid(y.count, [=](std::int64_t i) { y[i] = (y[i] + a[i]) + b[i]; });
  }
}

}  // namespace lockstep::kernels
