// Batch normalisation: the reference works on whole columns in double.
#include "engine/kernels/batch_norm_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::BatchNormFolded;
using kernels::BatchNormShared;

struct Matrix {
  std::int64_t rows, columns;
  std::int64_t size() const { return rows * columns; }
  std::int64_t chunks() const { return kernels::row_chunks(rows); }
};
Matrix any_matrix(Random& random) {
  const std::int64_t columns = between(random, 0, 7) == 0 ? between(random, 160, 200) : between(random, 1, 70);
  return {between(random, 0, 2) == 0 ? between(random, 1, 9) : between(random, 100, 700), columns};
}
std::string str(const Matrix& m) { return std::to_string(m.rows) + " x " + std::to_string(m.columns); }

// Far from 0 compared with its spread, as images are: one pass of sums of squares would not do.
std::vector<float> offset_values(Random& random, std::int64_t n) {
  std::vector<float> values = normal(random, n);
  for (float& value : values) value += 30;
  return values;
}

struct Column {
  double mean = 0, variance = 0;
};
Column column_of(const Matrix& m, const std::vector<float>& x, std::int64_t c) {
  Column column;
  for (std::int64_t r = 0; r < m.rows; ++r) column.mean += x[static_cast<std::size_t>(r * m.columns + c)] / static_cast<double>(m.rows);
  for (std::int64_t r = 0; r < m.rows; ++r)
    column.variance += std::pow(x[static_cast<std::size_t>(r * m.columns + c)] - column.mean, 2) / static_cast<double>(m.rows);
  return column;
}

// The moments of each run of rows, as batch_norm_moments leaves them.
std::vector<float> chunk_moments(const Matrix& m, const std::vector<float>& x, std::int64_t run) {
  std::vector<float> parts(static_cast<std::size_t>(2 * m.chunks() * m.columns));
  for (std::int64_t k = 0; k < m.chunks(); ++k) {
    const std::int64_t first = std::min(k * run, m.rows), end = std::min(first + run, m.rows);
    const std::vector<float> values(x.begin() + first * m.columns, x.begin() + end * m.columns);
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const Column column = column_of({end - first, m.columns}, values, c);
      parts[static_cast<std::size_t>(2 * k * m.columns + c)] = static_cast<float>(column.mean);
      parts[static_cast<std::size_t>((2 * k + 1) * m.columns + c)] = static_cast<float>(column.variance * static_cast<double>(end - first));
    }
  }
  return parts;
}

// Rows as the fold kernels leave them.
std::vector<float> any_folded(Random& random, const Matrix& m) {
  std::vector<float> folded = normal(random, BatchNormFolded::count * m.columns);
  for (std::int64_t c = 0; c < m.columns; ++c) {
    const auto at = [&](int row) -> float& { return folded[static_cast<std::size_t>(row * m.columns + c)]; };
    at(BatchNormFolded::inverse) = std::abs(at(BatchNormFolded::inverse)) + 0.5F;
    at(BatchNormFolded::scale) = at(BatchNormFolded::scale) * at(BatchNormFolded::inverse);
  }
  return folded;
}

// No ReLU, a plain one, or one with an upper bound.
struct Bounds {
  float low, high;
};
Bounds any_bounds(Random& random) {
  const std::int64_t kind = between(random, 0, 2);
  return {kind == 0 ? -INFINITY : 0.0F, kind == 2 ? 1.0F : INFINITY};
}

void moments(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const auto x = instance.input(offset_values(random, m.size()));
  const auto partial = instance.output<float>(2 * m.chunks() * m.columns);
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_moments", kernels::batch_norm_moments_cost(m.rows, m.columns), g, kernels::batch_norm_moments, x.read(),
           partial.write(), m.rows, m.columns);
  };
  instance.check = [=] {
    const auto parts = partial.now();
    const std::int64_t run = (m.rows + m.chunks() - 1) / m.chunks();
    std::vector<float> got;
    std::vector<double> expected;
    for (std::int64_t k = 0; k < m.chunks(); ++k) {
      const std::int64_t first = std::min(k * run, m.rows), end = std::min(first + run, m.rows);
      const Matrix part{end - first, m.columns};
      const std::vector<float> values(x.initial().begin() + first * m.columns, x.initial().begin() + end * m.columns);
      for (std::int64_t c = 0; c < m.columns; ++c) {
        const Column column = column_of(part, values, c);
        got.push_back(parts[static_cast<std::size_t>(2 * k * m.columns + c)]);
        expected.push_back(column.mean);
        got.push_back(parts[static_cast<std::size_t>((2 * k + 1) * m.columns + c)]);
        expected.push_back(column.variance * static_cast<double>(part.rows));
      }
    }
    expect_close(got, expected, 2e-5);
  };
}

void sums(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const auto x = instance.input(offset_values(random, m.size()));
  const auto partial = instance.output<double>(2 * m.chunks() * m.columns);
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_sums", kernels::batch_norm_sums_cost(m.rows, m.columns), g, kernels::batch_norm_sums, x.read(),
           partial.write(), m.rows, m.columns);
  };
  instance.check = [=] {
    const auto parts = partial.now();
    for (std::int64_t c = 0; c < m.columns; ++c) {
      double sum = 0, squares = 0, found = 0, found_squares = 0;
      for (std::int64_t r = 0; r < m.rows; ++r) {
        const double value = x.initial()[static_cast<std::size_t>(r * m.columns + c)];
        sum += value, squares += value * value;
      }
      for (std::int64_t k = 0; k < m.chunks(); ++k) {
        found += parts[static_cast<std::size_t>(2 * k * m.columns + c)];
        found_squares += parts[static_cast<std::size_t>((2 * k + 1) * m.columns + c)];
      }
      ASSERT_NEAR(found, sum, 1e-12 * std::abs(sum));
      ASSERT_NEAR(found_squares, squares, 1e-12 * squares);
    }
  };
}

void share(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  std::vector<double> values(static_cast<std::size_t>(2 * m.chunks() * m.columns));
  for (double& value : values) value = std::ldexp(static_cast<double>(random() % 100'000'001) + 0.5, static_cast<int>(random() % 5));
  const auto partial = instance.input(values);
  const auto shared = instance.output<float>(BatchNormShared::count * m.columns);
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_share", kernels::batch_norm_share_cost(m.rows, m.columns), g, kernels::batch_norm_share, partial.read(),
           shared.write(), m.rows, m.columns);
  };
  instance.check = [=] {
    const auto found = shared.now();
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const auto at = [&](int row) -> double { return found[static_cast<std::size_t>(row * m.columns + c)]; };
      double sum = 0, squares = 0;
      for (std::int64_t k = 0; k < m.chunks(); ++k) {
        sum += values[static_cast<std::size_t>(2 * k * m.columns + c)];
        squares += values[static_cast<std::size_t>((2 * k + 1) * m.columns + c)];
      }
      ASSERT_EQ(at(BatchNormShared::rows), static_cast<double>(m.rows));
      ASSERT_NEAR(at(BatchNormShared::sum) + at(BatchNormShared::sum_rest), sum, 1e-13 * sum);
      ASSERT_NEAR(at(BatchNormShared::squares) + at(BatchNormShared::squares_rest), squares, 1e-13 * squares);
    }
  };
}

// Every replica has its own run of the rows, some have none; the result is that of all rows together.
void fold_replicas(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const std::int64_t replicas = between(random, 1, 8);
  const std::vector<float> x = offset_values(random, m.size());
  std::vector<float> all(static_cast<std::size_t>(replicas * BatchNormShared::count * m.columns));
  std::int64_t first = 0;
  for (std::int64_t r = 0; r < replicas; ++r) {
    const std::int64_t rows = r + 1 == replicas ? m.rows - first : between(random, 0, m.rows - first);
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const auto at = [&](int row) -> float& { return all[static_cast<std::size_t>((r * BatchNormShared::count + row) * m.columns + c)]; };
      double sum = 0, squares = 0;
      for (std::int64_t row = first; row < first + rows; ++row) {
        const double value = x[static_cast<std::size_t>(row * m.columns + c)];
        sum += value, squares += value * value;
      }
      at(BatchNormShared::rows) = static_cast<float>(rows);
      at(BatchNormShared::sum) = static_cast<float>(sum);
      at(BatchNormShared::sum_rest) = static_cast<float>(sum - at(BatchNormShared::sum));
      at(BatchNormShared::squares) = static_cast<float>(squares);
      at(BatchNormShared::squares_rest) = static_cast<float>(squares - at(BatchNormShared::squares));
    }
    first += rows;
  }
  const auto shared = instance.input(all);
  const auto gamma = instance.input(normal(random, m.columns));
  const auto beta = instance.input(normal(random, m.columns));
  const auto mean = instance.in_out(normal(random, m.columns));
  const auto variance = instance.in_out(normal(random, m.columns));
  const auto folded = instance.output<float>(BatchNormFolded::count * m.columns);
  instance.shape = str(m) + " on " + std::to_string(replicas) + " replicas";
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_fold_replicas", kernels::batch_norm_fold_replicas_cost(replicas, m.columns), g,
           kernels::batch_norm_fold_replicas, shared.read(), gamma.read(), beta.read(), mean.write(), variance.write(), folded.write(),
           replicas, m.columns, 0.9F, 1e-3F);
  };
  instance.check = [=] {
    std::vector<double> means, variances, rows(folded.initial().size());
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const Column column = column_of(m, x, c);
      const double inverse = 1 / std::sqrt(column.variance + 1e-3);
      means.push_back(0.9 * mean.initial()[i] + 0.1 * column.mean);
      variances.push_back(0.9 * variance.initial()[i] + 0.1 * column.variance);
      const auto at = [&](int row) -> double& { return rows[static_cast<std::size_t>(row * m.columns + c)]; };
      at(BatchNormFolded::mean) = column.mean;
      at(BatchNormFolded::inverse) = inverse;
      at(BatchNormFolded::scale) = inverse * gamma.initial()[i];
      at(BatchNormFolded::shift) = beta.initial()[i];
    }
    expect_close(mean.now(), means, 1e-5);
    expect_close(variance.now(), variances, 1e-5);
    expect_close(folded.now(), rows, 2e-5);
  };
}

void fold_batch(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const std::vector<float> x = offset_values(random, m.size());
  const std::int64_t run = (m.rows + m.chunks() - 1) / m.chunks();
  const std::vector<float> parts = chunk_moments(m, x, run);
  const bool has_gamma = between(random, 0, 1) != 0, has_beta = between(random, 0, 1) != 0;
  const auto partial = instance.input(parts);
  const auto gamma = instance.input(normal(random, has_gamma ? m.columns : 0));
  const auto beta = instance.input(normal(random, has_beta ? m.columns : 0));
  const auto mean = instance.in_out(normal(random, m.columns));
  const auto variance = instance.in_out(normal(random, m.columns));
  const auto folded = instance.output<float>(BatchNormFolded::count * m.columns);
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_fold_batch", kernels::batch_norm_fold_batch_cost(m.rows, m.columns), g, kernels::batch_norm_fold_batch,
           partial.read(), gamma.read(), beta.read(), mean.write(), variance.write(), folded.write(), m.rows, m.columns, 0.9F, 1e-3F);
  };
  instance.check = [=] {
    std::vector<double> means, variances, rows(folded.initial().size());
    for (std::int64_t c = 0; c < m.columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const Column column = column_of(m, x, c);
      const double inverse = 1 / std::sqrt(column.variance + 1e-3);
      means.push_back(0.9 * mean.initial()[i] + 0.1 * column.mean);
      variances.push_back(0.9 * variance.initial()[i] + 0.1 * column.variance);
      const auto at = [&](int row) -> double& { return rows[static_cast<std::size_t>(row * m.columns + c)]; };
      at(BatchNormFolded::mean) = column.mean;
      at(BatchNormFolded::inverse) = inverse;
      at(BatchNormFolded::scale) = inverse * (has_gamma ? gamma.initial()[i] : 1);
      at(BatchNormFolded::shift) = has_beta ? beta.initial()[i] : 0;
    }
    expect_close(mean.now(), means, 1e-5);
    expect_close(variance.now(), variances, 1e-5);
    expect_close(folded.now(), rows, 1e-4);
  };
}

void fold_moving(Random& random, KernelInstance& instance) {
  const std::int64_t columns = between(random, 1, 300);
  std::vector<float> spread = normal(random, columns);
  for (float& value : spread) value = std::abs(value);
  const bool has_gamma = between(random, 0, 1) != 0, has_beta = between(random, 0, 1) != 0;
  const auto mean = instance.input(normal(random, columns));
  const auto variance = instance.input(spread);
  const auto gamma = instance.input(normal(random, has_gamma ? columns : 0));
  const auto beta = instance.input(normal(random, has_beta ? columns : 0));
  const auto folded = instance.output<float>(BatchNormFolded::count * columns);
  instance.shape = std::to_string(columns);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_fold_moving", kernels::batch_norm_fold_moving_cost(columns), g, kernels::batch_norm_fold_moving, mean.read(),
           variance.read(), gamma.read(), beta.read(), folded.write(), 1e-3F);
  };
  instance.check = [=] {
    std::vector<double> rows(folded.initial().size());
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const auto at = [&](int row) -> double& { return rows[static_cast<std::size_t>(row * columns + c)]; };
      at(BatchNormFolded::mean) = mean.initial()[i];
      at(BatchNormFolded::inverse) = 1 / std::sqrt(variance.initial()[i] + 1e-3);
      at(BatchNormFolded::scale) = at(BatchNormFolded::inverse) * (has_gamma ? gamma.initial()[i] : 1);
      at(BatchNormFolded::shift) = has_beta ? beta.initial()[i] : 0;
    }
    expect_close(folded.now(), rows, 1e-6);
  };
}

void apply(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const Bounds bounds = any_bounds(random);
  const auto x = instance.input(normal(random, m.size()));
  const auto folded = instance.input(any_folded(random, m));
  const auto y = instance.output<float>(m.size());
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_apply", kernels::batch_norm_apply_cost(m.rows, m.columns), g, kernels::batch_norm_apply, x.read(),
           folded.read(), y.write(), m.rows, m.columns, bounds.low, bounds.high);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (std::int64_t i = 0; i < m.size(); ++i) {
      const auto row = [&](int k) -> double { return folded.initial()[static_cast<std::size_t>(k * m.columns + i % m.columns)]; };
      const double z = (x.initial()[static_cast<std::size_t>(i)] - row(BatchNormFolded::mean)) * row(BatchNormFolded::scale) +
                       row(BatchNormFolded::shift);
      expected.push_back(std::min<double>(bounds.high, std::max<double>(bounds.low, z)));
    }
    expect_close(y.now(), expected, 1e-5);
  };
}

// What the ReLU let pass. In float, as the kernel decides it: near a bound rounding decides.
std::vector<double> passed(const Matrix& m, const Bounds& bounds, const std::vector<float>& x, const std::vector<float>& folded,
                           const std::vector<float>& dy) {
  std::vector<double> g;
  for (std::int64_t i = 0; i < m.size(); ++i) {
    const auto row = [&](int k) { return folded[static_cast<std::size_t>(k * m.columns + i % m.columns)]; };
    const auto at = static_cast<std::size_t>(i);
    const float z = std::fma(x[at] - row(BatchNormFolded::mean), row(BatchNormFolded::scale), row(BatchNormFolded::shift));
    g.push_back(z > bounds.low && z < bounds.high ? dy[at] : 0);
  }
  return g;
}

void gradient_sums(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const Bounds bounds = any_bounds(random);
  const auto x = instance.input(normal(random, m.size()));
  const auto dy = instance.input(normal(random, m.size()));
  const auto folded = instance.input(any_folded(random, m));
  const auto partial = instance.output<float>(2 * m.chunks() * m.columns);
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_gradient_sums", kernels::batch_norm_gradient_sums_cost(m.rows, m.columns), g,
           kernels::batch_norm_gradient_sums, x.read(), dy.read(), folded.read(), partial.write(), m.rows, m.columns, bounds.low,
           bounds.high);
  };
  instance.check = [=] {
    const std::vector<double> g = passed(m, bounds, x.initial(), folded.initial(), dy.initial());
    std::vector<double> expected(static_cast<std::size_t>(2 * m.columns));
    for (std::int64_t i = 0; i < m.size(); ++i) {
      const std::int64_t c = i % m.columns;
      const auto at = static_cast<std::size_t>(i);
      expected[static_cast<std::size_t>(c)] += g[at];
      expected[static_cast<std::size_t>(m.columns + c)] +=
          g[at] * (x.initial()[at] - folded.initial()[static_cast<std::size_t>(c)]) *
          folded.initial()[static_cast<std::size_t>(BatchNormFolded::inverse * m.columns + c)];
    }
    std::vector<float> sums(expected.size());
    const auto parts = partial.now();
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
    expect_close_to_scale(sums, expected, 1e-5);
  };
}

void gradient_total(Random& random, KernelInstance& instance) {
  const std::int64_t chunks = between(random, 1, 40), columns = between(random, 1, 90);
  const auto partial = instance.input(normal(random, 2 * chunks * columns));
  const auto sums = instance.output<float>(2 * columns);
  const auto dgamma = instance.output<float>(between(random, 0, 1) * columns);
  const auto dbeta = instance.output<float>(between(random, 0, 1) * columns);
  instance.shape = std::to_string(chunks) + " chunks of " + std::to_string(columns);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_gradient_total", kernels::batch_norm_gradient_total_cost(chunks, columns), g,
           kernels::batch_norm_gradient_total, partial.read(), sums.write(), dgamma.write(), dbeta.write(), chunks, columns);
  };
  instance.check = [=] {
    std::vector<double> expected(static_cast<std::size_t>(2 * columns));
    for (std::size_t i = 0; i < partial.initial().size(); ++i) expected[i % expected.size()] += partial.initial()[i];
    expect_close(sums.now(), expected, 1e-6);
    const auto middle = expected.begin() + columns;
    if (!dbeta.initial().empty()) expect_close(dbeta.now(), std::vector<double>(expected.begin(), middle), 1e-6);
    if (!dgamma.initial().empty()) expect_close(dgamma.now(), std::vector<double>(middle, expected.end()), 1e-6);
  };
}

void gradient_apply(Random& random, KernelInstance& instance) {
  const Matrix m = any_matrix(random);
  const Bounds bounds = any_bounds(random);
  const auto x = instance.input(normal(random, m.size()));
  const auto dy = instance.input(normal(random, m.size()));
  const auto folded = instance.input(any_folded(random, m));
  const auto sums = instance.input(normal(random, 2 * m.columns));
  const std::int64_t all_rows = m.rows + between(random, 0, 50);
  const auto dx = instance.output<float>(m.size());
  instance.shape = str(m);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "batch_norm_gradient_apply", kernels::batch_norm_gradient_apply_cost(m.rows, m.columns), g,
           kernels::batch_norm_gradient_apply, x.read(), dy.read(), folded.read(), sums.read(), dx.write(), m.rows, m.columns, all_rows,
           bounds.low, bounds.high);
  };
  instance.check = [=] {
    const std::vector<double> g = passed(m, bounds, x.initial(), folded.initial(), dy.initial());
    std::vector<double> expected;
    for (std::int64_t i = 0; i < m.size(); ++i) {
      const std::int64_t c = i % m.columns;
      const auto at = static_cast<std::size_t>(i);
      const auto row = [&](int k) -> double { return folded.initial()[static_cast<std::size_t>(k * m.columns + c)]; };
      const double xhat = (x.initial()[at] - row(BatchNormFolded::mean)) * row(BatchNormFolded::inverse);
      const double sum = sums.initial()[static_cast<std::size_t>(c)], product = sums.initial()[static_cast<std::size_t>(m.columns + c)];
      expected.push_back(row(BatchNormFolded::scale) * (g[at] - (sum + xhat * product) / static_cast<double>(all_rows)));
    }
    expect_close(dx.now(), expected, 1e-5);
  };
}

}  // namespace

std::vector<KernelCase> batch_norm_cases() {
  return {{"batch_norm_moments", moments},
          {"batch_norm_fold_batch", fold_batch},
          {"batch_norm_sums", sums},
          {"batch_norm_share", share},
          {"batch_norm_fold_replicas", fold_replicas},
          {"batch_norm_fold_moving", fold_moving},
          {"batch_norm_apply", apply},
          {"batch_norm_gradient_sums", gradient_sums},
          {"batch_norm_gradient_total", gradient_total},
          {"batch_norm_gradient_apply", gradient_apply}};
}

}  // namespace lockstep::testing
