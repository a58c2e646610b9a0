// Bias and activation after a product, their gradients in one pass, and softmax.
#include <cmath>

#include <backend/kernel_support.h>
#include "engine/kernels/activation_kernels.h"

namespace lockstep::kernels {

__global__ void bias_activation(View<const float> bias, View<float> y, std::int64_t rows, std::int64_t columns, bool relu) {
  const float low = relu ? 0.0F : -INFINITY;
  const bool has_bias = bias.count > 0;
  each_block(rows, [=](std::int64_t row) {
    float* out = y.data + row * columns;
    const float* b = bias.data;
    // `low > v` and not `v < low ? ...`: a NaN stays a NaN.
    if (has_bias) {
      each_thread(columns, [=](std::int64_t c) {
        const float v = out[c] + b[c];
        out[c] = low > v ? low : v;
      });
    } else {
      each_thread(columns, [=](std::int64_t c) {
        const float v = out[c];
        out[c] = low > v ? low : v;
      });
    }
  });
}

namespace {

struct Chunk {
  std::int64_t first, end;
};

LOCKSTEP_HOST_DEVICE inline Chunk chunk_of(std::int64_t rows, std::int64_t k) {
  const std::int64_t chunks = row_chunks(rows);
  const std::int64_t run = (rows + chunks - 1) / chunks;
  const std::int64_t first = k * run < rows ? k * run : rows;
  return {first, first + run < rows ? first + run : rows};
}

}  // namespace

// Rows are taken four at a time: the running sums live in memory (the row of `partial`), and a quarter of the traffic to them is
// enough to make that free. A thread meets the same columns in every pass, so no barrier is needed.
__global__ void relu_bias_gradient(View<const float> y, View<float> dy, View<float> partial, std::int64_t rows, std::int64_t columns) {
  each_block(row_chunks(rows), [=](std::int64_t k) {
    const Chunk chunk = chunk_of(rows, k);
    float* sum = partial.data + k * columns;
    each_thread(columns, [=](std::int64_t c) { sum[c] = 0; });
    std::int64_t row = chunk.first;
    for (; row + 4 <= chunk.end; row += 4) {
      const float* y0 = y.data + row * columns;
      const float* y1 = y0 + columns;
      const float* y2 = y1 + columns;
      const float* y3 = y2 + columns;
      float* d0 = dy.data + row * columns;
      float* d1 = d0 + columns;
      float* d2 = d1 + columns;
      float* d3 = d2 + columns;
      each_thread(columns, [=](std::int64_t c) {
        const float a = y0[c] > 0 ? d0[c] : 0.0F;
        const float b = y1[c] > 0 ? d1[c] : 0.0F;
        const float e = y2[c] > 0 ? d2[c] : 0.0F;
        const float f = y3[c] > 0 ? d3[c] : 0.0F;
        d0[c] = a;
        d1[c] = b;
        d2[c] = e;
        d3[c] = f;
        sum[c] += (a + b) + (e + f);
      });
    }
    for (; row < chunk.end; ++row) {
      const float* y0 = y.data + row * columns;
      float* d0 = dy.data + row * columns;
      each_thread(columns, [=](std::int64_t c) {
        const float a = y0[c] > 0 ? d0[c] : 0.0F;
        d0[c] = a;
        sum[c] += a;
      });
    }
  });
}

__global__ void relu_gradient(View<const float> y, View<float> dy) {
  each_in_grid(dy.count, [=](std::int64_t i) { dy[i] = y[i] > 0 ? dy[i] : 0.0F; });
}

__global__ void column_sums(View<const float> x, View<float> partial, std::int64_t rows, std::int64_t columns) {
  each_block(row_chunks(rows), [=](std::int64_t k) {
    const Chunk chunk = chunk_of(rows, k);
    float* sum = partial.data + k * columns;
    each_thread(columns, [=](std::int64_t c) { sum[c] = 0; });
    std::int64_t row = chunk.first;
    for (; row + 4 <= chunk.end; row += 4) {
      const float* x0 = x.data + row * columns;
      const float* x1 = x0 + columns;
      const float* x2 = x1 + columns;
      const float* x3 = x2 + columns;
      each_thread(columns, [=](std::int64_t c) { sum[c] += (x0[c] + x1[c]) + (x2[c] + x3[c]); });
    }
    for (; row < chunk.end; ++row) {
      const float* x0 = x.data + row * columns;
      each_thread(columns, [=](std::int64_t c) { sum[c] += x0[c]; });
    }
  });
}

__global__ void add_chunks(View<const float> partial, View<float> sums, std::int64_t chunks, std::int64_t columns) {
  each_in_grid(columns, [=](std::int64_t c) {
    float sum = 0;
    for (std::int64_t k = 0; k < chunks; ++k) sum += partial[k * columns + c];
    sums[c] = sum;
  });
}

__global__ void softmax(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float* in = x.data + row * columns;
    float* out = y.data + row * columns;
    const float largest = lane_max<32>(columns, [=](std::int64_t c) { return in[c]; });
    const float sum = lane_sum<32>(columns, [=](std::int64_t c) { return expf(in[c] - largest); });
    each_thread(columns, [=](std::int64_t c) { out[c] = expf(in[c] - largest) / sum; });
  });
}

__global__ void softmax_gradient(View<const float> y, View<float> dy, std::int64_t rows, std::int64_t columns) {
  each_block(rows, [=](std::int64_t row) {
    const float* p = y.data + row * columns;
    float* d = dy.data + row * columns;
    const float dot = lane_sum<32>(columns, [=](std::int64_t c) { return p[c] * d[c]; });
    each_thread(columns, [=](std::int64_t c) { d[c] = p[c] * (d[c] - dot); });
  });
}

}  // namespace lockstep::kernels
