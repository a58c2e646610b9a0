// Batch normalisation over rows x columns, forward and gradient, with the ReLU that follows it.
#include <cmath>

#include <backend/kernel_support.h>
#include <backend/lanes.h>
#include "engine/kernels/batch_norm_kernels.h"
#include "engine/kernels/sum_order.h"

namespace lockstep::kernels {

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

// The four folded rows.
struct Folded {
  const float *mean, *inverse, *scale, *shift;
};
LOCKSTEP_HOST_DEVICE inline Folded folded_rows(const float* data, std::int64_t columns) {
  return {data + BatchNormFolded::mean * columns, data + BatchNormFolded::inverse * columns, data + BatchNormFolded::scale * columns,
          data + BatchNormFolded::shift * columns};
}

// The one formula that forward and the gradient's mask share.
LOCKSTEP_HOST_DEVICE inline float normalised(float x, float mean, float scale, float shift) { return fmaf(x - mean, scale, shift); }

// dy where the ReLU let it pass: strictly between its bounds, as in TensorFlow.
LOCKSTEP_HOST_DEVICE inline float passed(float z, float dy, float low, float high) { return z > low && z < high ? dy : 0.0F; }

// Rows whose sums a thread keeps in registers while the next ones are fetched.
using sum_order::kRowsTogether;
LOCKSTEP_HOST_DEVICE inline std::int64_t rows_of_two_together(std::int64_t columns) {
  return columns < sum_order::kLongRow ? kRowsTogether : sum_order::kLongRowsTogether;
}

// A value near a chunk's mean: that of its first four rows.
template <int Width>
LOCKSTEP_DEVICE Lanes<Width> mean_of_first(const float* x, std::int64_t rows, std::int64_t columns) {
  if (rows < 4) return load_lanes<Width>(x);
  const Lanes<Width> two = load_lanes<Width>(x) + load_lanes<Width>(x + columns);
  return (two + (load_lanes<Width>(x + 2 * columns) + load_lanes<Width>(x + 3 * columns))) * fill_lanes<Width>(0.25F);
}

// Mean and sum of squared differences of everything joined so far (Chan, Golub and LeVeque 1979).
struct Moments {
  double n = 0, mean = 0, squares = 0;
  LOCKSTEP_HOST_DEVICE void join(double more, double its_mean, double its_squares) {
    if (more == 0) return;
    const double apart = its_mean - mean;
    const double both = n + more;
    mean += apart * (more / both);
    squares += its_squares + apart * apart * (n * more / both);
    n = both;
  }
};

LOCKSTEP_HOST_DEVICE inline Moments join_chunks(View<const float> partial, std::int64_t rows, std::int64_t columns, std::int64_t c) {
  Moments all;
  for (std::int64_t k = 0; k < row_chunks(rows); ++k) {
    const Chunk chunk = chunk_of(rows, k);
    all.join(static_cast<double>(chunk.end - chunk.first), partial[2 * k * columns + c], partial[(2 * k + 1) * columns + c]);
  }
  return all;
}

LOCKSTEP_HOST_DEVICE inline void fold(float mean, float variance, View<const float> gamma, View<const float> beta, View<float> folded,
                                      std::int64_t columns, std::int64_t c, float epsilon) {
  const float inverse = 1.0F / sqrtf(variance + epsilon);
  folded[BatchNormFolded::mean * columns + c] = mean;
  folded[BatchNormFolded::inverse * columns + c] = inverse;
  folded[BatchNormFolded::scale * columns + c] = gamma.count > 0 ? gamma[c] * inverse : inverse;
  folded[BatchNormFolded::shift * columns + c] = beta.count > 0 ? beta[c] : 0.0F;
}

LOCKSTEP_HOST_DEVICE inline void fold_and_move(const Moments& moments, View<const float> gamma, View<const float> beta,
                                               View<float> moving_mean, View<float> moving_variance, View<float> folded,
                                               std::int64_t columns, std::int64_t c, float momentum, float epsilon) {
  const auto mean = static_cast<float>(moments.mean);
  const auto variance = static_cast<float>(moments.squares / moments.n);
  moving_mean[c] = moving_mean[c] * momentum + mean * (1.0F - momentum);
  moving_variance[c] = moving_variance[c] * momentum + variance * (1.0F - momentum);
  fold(mean, variance, gamma, beta, folded, columns, c, epsilon);
}

}  // namespace

// One pass: sums of differences from a value near the mean, that of the chunk's first rows, and of their squares. With s and q these sums,
// the mean is near + s / n, and the squared differences from it are q - s * s / n: as exact as two passes, since s is small. Sums are
// nested: a block of rows, which a thread has in registers, then the chunk.
__global__ void batch_norm_moments(View<const float> x, View<float> partial, std::int64_t rows, std::int64_t columns) {
  each_block(row_chunks(rows), [=](std::int64_t k) {
    const Chunk chunk = chunk_of(rows, k);
    const float* first = x.data + chunk.first * columns;
    const std::int64_t count = chunk.end - chunk.first;
    float* sum = partial.data + 2 * k * columns;
    float* squares = sum + columns;
    each_lanes(columns, [=](std::int64_t c, auto lanes) {
      store_lanes(sum + c, fill_lanes<decltype(lanes)::kValue>(0.0F));
      store_lanes(squares + c, fill_lanes<decltype(lanes)::kValue>(0.0F));
    });
    for (std::int64_t row = 0; row < count; row += kRowsTogether) {
      const std::int64_t end = row + kRowsTogether < count ? kRowsTogether : count - row;
      each_lanes(columns, [=](std::int64_t c, auto lanes) {
        constexpr int kWidth = decltype(lanes)::kValue;
        const Lanes<kWidth> near = mean_of_first<kWidth>(first + c, count, columns);
        const float* in = first + row * columns + c;
        Lanes<kWidth> s = fill_lanes<kWidth>(0.0F);
        Lanes<kWidth> q = fill_lanes<kWidth>(0.0F);
        for (std::int64_t r = 0; r < end; ++r, in += columns) {
          prefetch(in + kRowsTogether * columns);
          const Lanes<kWidth> apart = load_lanes<kWidth>(in) - near;
          s = s + apart;
          q = fused(apart, apart, q);
        }
        store_lanes(sum + c, load_lanes<kWidth>(sum + c) + s);
        store_lanes(squares + c, load_lanes<kWidth>(squares + c) + q);
      });
    }
    if (count == 0) return;
    // As before: a thread finds the sums that it has made.
    each_lanes(columns, [=](std::int64_t c, auto lanes) {
      constexpr int kWidth = decltype(lanes)::kValue;
      const Lanes<kWidth> total = load_lanes<kWidth>(sum + c);
      const Lanes<kWidth> average = total / fill_lanes<kWidth>(static_cast<float>(count));
      const Lanes<kWidth> apart = load_lanes<kWidth>(squares + c) - total * average;
      store_lanes(squares + c, clipped(apart, fill_lanes<kWidth>(0.0F), fill_lanes<kWidth>(INFINITY)));
      store_lanes(sum + c, mean_of_first<kWidth>(first + c, count, columns) + average);
    });
  });
}

__global__ void batch_norm_fold_batch(View<const float> partial, View<const float> gamma, View<const float> beta, View<float> moving_mean,
                                      View<float> moving_variance, View<float> folded, std::int64_t rows, std::int64_t columns,
                                      float momentum, float epsilon) {
  each_in_grid(columns, [=](std::int64_t c) {
    fold_and_move(join_chunks(partial, rows, columns, c), gamma, beta, moving_mean, moving_variance, folded, columns, c, momentum, epsilon);
  });
}

__global__ void batch_norm_sums(View<const float> x, View<double> partial, std::int64_t rows, std::int64_t columns) {
  each_block(row_chunks(rows), [=](std::int64_t k) {
    const Chunk chunk = chunk_of(rows, k);
    double* sum = partial.data + 2 * k * columns;
    double* squares = sum + columns;
    each_thread(columns, [=](std::int64_t c) { sum[c] = 0, squares[c] = 0; });
    std::int64_t row = chunk.first;
    for (; row + 4 <= chunk.end; row += 4) {
      const float* x0 = x.data + row * columns;
      each_thread(columns, [=](std::int64_t c) {
        const double p = x0[c];
        const double q = x0[columns + c];
        const double r = x0[2 * columns + c];
        const double s = x0[3 * columns + c];
        sum[c] += (p + q) + (r + s);
        squares[c] += (p * p + q * q) + (r * r + s * s);
      });
    }
    for (; row < chunk.end; ++row) {
      const float* x0 = x.data + row * columns;
      each_thread(columns, [=](std::int64_t c) {
        const double p = x0[c];
        sum[c] += p;
        squares[c] += p * p;
      });
    }
  });
}

__global__ void batch_norm_share(View<const double> partial, View<float> shared, std::int64_t rows, std::int64_t columns) {
  const std::int64_t chunks = row_chunks(rows);
  each_in_grid(columns, [=](std::int64_t c) {
    double sum = 0;
    double squares = 0;
    for (std::int64_t k = 0; k < chunks; ++k) {
      sum += partial[2 * k * columns + c];
      squares += partial[(2 * k + 1) * columns + c];
    }
    const auto coarse_sum = static_cast<float>(sum);
    const auto coarse_squares = static_cast<float>(squares);
    shared[BatchNormShared::rows * columns + c] = static_cast<float>(rows);
    shared[BatchNormShared::sum * columns + c] = coarse_sum;
    shared[BatchNormShared::sum_rest * columns + c] = static_cast<float>(sum - coarse_sum);
    shared[BatchNormShared::squares * columns + c] = coarse_squares;
    shared[BatchNormShared::squares_rest * columns + c] = static_cast<float>(squares - coarse_squares);
  });
}

__global__ void batch_norm_fold_replicas(View<const float> shared, View<const float> gamma, View<const float> beta, View<float> moving_mean,
                                         View<float> moving_variance, View<float> folded, std::int64_t replicas, std::int64_t columns,
                                         float momentum, float epsilon) {
  each_in_grid(columns, [=](std::int64_t c) {
    double rows = 0;
    double sum = 0;
    double squares = 0;
    for (std::int64_t r = 0; r < replicas; ++r) {
      const float* own = shared.data + r * BatchNormShared::count * columns + c;
      rows += own[BatchNormShared::rows * columns];
      sum += static_cast<double>(own[BatchNormShared::sum * columns]) + own[BatchNormShared::sum_rest * columns];
      squares += static_cast<double>(own[BatchNormShared::squares * columns]) + own[BatchNormShared::squares_rest * columns];
    }
    Moments all;
    all.n = rows;
    all.mean = sum / rows;
    const double apart = squares - sum * all.mean;
    all.squares = apart > 0 ? apart : 0;
    fold_and_move(all, gamma, beta, moving_mean, moving_variance, folded, columns, c, momentum, epsilon);
  });
}

__global__ void batch_norm_fold_moving(View<const float> moving_mean, View<const float> moving_variance, View<const float> gamma,
                                       View<const float> beta, View<float> folded, float epsilon) {
  const std::int64_t columns = moving_mean.count;
  each_in_grid(columns, [=](std::int64_t c) { fold(moving_mean[c], moving_variance[c], gamma, beta, folded, columns, c, epsilon); });
}

__global__ void batch_norm_apply(View<const float> x, View<const float> folded, View<float> y, std::int64_t rows, std::int64_t columns,
                                 float low, float high) {
  const Folded f = folded_rows(folded.data, columns);
  each_block(rows, [=](std::int64_t row) {
    const float* in = x.data + row * columns;
    float* out = y.data + row * columns;
    each_thread(columns, [=](std::int64_t c) {
      // Comparisons this way round leave a NaN a NaN.
      float z = normalised(in[c], f.mean[c], f.scale[c], f.shift[c]);
      z = low > z ? low : z;
      out[c] = high < z ? high : z;
    });
  });
}

__global__ void batch_norm_gradient_sums(View<const float> x, View<const float> dy, View<const float> folded, View<float> partial,
                                         std::int64_t rows, std::int64_t columns, float low, float high) {
  const Folded f = folded_rows(folded.data, columns);
  const std::int64_t together = rows_of_two_together(columns);
  each_block(row_chunks(rows), [=](std::int64_t k) {
    const Chunk chunk = chunk_of(rows, k);
    float* sum = partial.data + 2 * k * columns;
    float* product = sum + columns;
    each_lanes(columns, [=](std::int64_t c, auto lanes) {
      store_lanes(sum + c, fill_lanes<decltype(lanes)::kValue>(0.0F));
      store_lanes(product + c, fill_lanes<decltype(lanes)::kValue>(0.0F));
    });
    for (std::int64_t row = chunk.first; row < chunk.end; row += together) {
      const std::int64_t end = row + together < chunk.end ? together : chunk.end - row;
      each_lanes(columns, [=](std::int64_t c, auto lanes) {
        constexpr int kWidth = decltype(lanes)::kValue;
        const Lanes<kWidth> mean = load_lanes<kWidth>(f.mean + c);
        const Lanes<kWidth> scale = load_lanes<kWidth>(f.scale + c);
        const Lanes<kWidth> shift = load_lanes<kWidth>(f.shift + c);
        const Lanes<kWidth> least = fill_lanes<kWidth>(low);
        const Lanes<kWidth> most = fill_lanes<kWidth>(high);
        const float* in = x.data + row * columns + c;
        const float* d = dy.data + row * columns + c;
        Lanes<kWidth> s = fill_lanes<kWidth>(0.0F);
        Lanes<kWidth> p = fill_lanes<kWidth>(0.0F);
        for (std::int64_t r = 0; r < end; ++r, in += columns, d += columns) {
          prefetch(in + together * columns);
          prefetch(d + together * columns);
          const Lanes<kWidth> centred = load_lanes<kWidth>(in) - mean;
          const Lanes<kWidth> g = where_between(fused(centred, scale, shift), least, most, load_lanes<kWidth>(d));
          s = s + g;
          p = fused(g, centred, p);
        }
        store_lanes(sum + c, load_lanes<kWidth>(sum + c) + s);
        store_lanes(product + c, fused(p, load_lanes<kWidth>(f.inverse + c), load_lanes<kWidth>(product + c)));
      });
    }
  });
}

__global__ void batch_norm_gradient_total(View<const float> partial, View<float> sums, View<float> dgamma, View<float> dbeta,
                                          std::int64_t chunks, std::int64_t columns) {
  each_in_grid(columns, [=](std::int64_t c) {
    double sum = 0;
    double product = 0;
    for (std::int64_t k = 0; k < chunks; ++k) {
      sum += partial[2 * k * columns + c];
      product += partial[(2 * k + 1) * columns + c];
    }
    sums[c] = static_cast<float>(sum);
    sums[columns + c] = static_cast<float>(product);
    if (dbeta.count > 0) dbeta[c] = static_cast<float>(sum);
    if (dgamma.count > 0) dgamma[c] = static_cast<float>(product);
  });
}

__global__ void batch_norm_gradient_apply(View<const float> x, View<const float> dy, View<const float> folded, View<const float> sums,
                                          View<float> dx, std::int64_t rows, std::int64_t columns, std::int64_t all_rows, float low,
                                          float high) {
  const Folded f = folded_rows(folded.data, columns);
  const float share = 1.0F / static_cast<float>(all_rows);
  const float* sum = sums.data;
  const float* product = sums.data + columns;
  each_block(rows, [=](std::int64_t row) {
    const float* in = x.data + row * columns;
    const float* d = dy.data + row * columns;
    float* out = dx.data + row * columns;
    each_thread(columns, [=](std::int64_t c) {
      const float centred = in[c] - f.mean[c];
      const float g = passed(normalised(in[c], f.mean[c], f.scale[c], f.shift[c]), d[c], low, high);
      out[c] = f.scale[c] * (g - share * (sum[c] + centred * f.inverse[c] * product[c]));
    });
  });
}

}  // namespace lockstep::kernels
