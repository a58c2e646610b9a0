#include "tests/simulator/gpu/coalescing/kernels/pattern_kernels.h"

#include <backend/kernel_support.h>
#include <backend/lanes.h>

namespace lockstep::testing {

__global__ void read_strided(View<const float> x, View<float> y, std::int64_t stride, std::int64_t offset) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = x[i * stride + offset]; });
}

__global__ void write_strided(View<const float> x, View<float> y, std::int64_t stride, std::int64_t offset) {
  each_in_grid(x.count, [=](std::int64_t i) { y[i * stride + offset] = x[i]; });
}

__global__ void read_halves(View<const std::uint16_t> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = x[i]; });
}

__global__ void copy_doubles(View<const double> x, View<double> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = x[i]; });
}

__global__ void copy_wide(View<const float> x, View<float> y) {
  each_in_grid(y.count / 4, [=](std::int64_t i) { store_lanes<4>(y.data + 4 * i, load_lanes<4>(x.data + 4 * i)); });
}

__global__ void gather(View<const std::int32_t> permutation, View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) { y[i] = x[permutation[i]]; });
}

__global__ void uneven_sums(View<const std::int32_t> counts, View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) {
    float sum = 0;
    for (std::int64_t k = 0; k < counts[i]; ++k) sum += x[k * y.count + i];
    y[i] = sum;
  });
}

__global__ void uneven_turns(View<const std::int32_t> counts, View<const float> x, View<float> y, std::int64_t turns) {
  each_in_grid(y.count, [=](std::int64_t i) {
    float sum = 0;
    const std::int64_t count = counts[i];
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      for (std::int64_t k = 0; k < count; ++k) sum += x[k * y.count + i];
    }
    y[i] = sum;
  });
}

__global__ void rare_branch(View<const std::int32_t> owners, View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) {
    float sum = 0;
    for (std::int64_t k = 0; k < owners.count; ++k) {
      if (owners[k] != i) continue;
      for (std::int64_t c = 0; c < 3; ++c) sum += x[3 * k + c];
    }
    y[i] = sum;
  });
}

__global__ void reverse_blocks(View<const float> x, View<float> y) {
  __shared__ float tile[128];
  each_block(y.count / 128, [=](std::int64_t block) {
    each_thread(128, [=](std::int64_t i) { tile[i] = x[block * 128 + i]; });
    __syncthreads();
    each_thread(128, [=](std::int64_t i) {
      volatile float own[4] = {};  // on the stack
      own[i % 4] = tile[127 - i];
      y[block * 128 + i] = own[i % 4];
    });
    __syncthreads();
  });
}

__global__ void read_by_half(View<const float> x, View<float> y) {
  each_in_grid(y.count, [=](std::int64_t i) {
    float value = 0;
    if (i % 2 == 0) value = x[i];
    y[i] = value;
  });
}

__global__ void careless_transpose(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns) {
  each_in_grid(rows * columns, [=](std::int64_t i) { y[i] = x[i % rows * columns + i / rows]; });
}

}  // namespace lockstep::testing
