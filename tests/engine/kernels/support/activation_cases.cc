// Bias, relu, column sums, softmax.
#include "engine/kernels/activation_kernels.h"

#include "engine/kernels/smooth_activation_kernels.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

struct Matrix {
  std::int64_t rows, columns;
  std::int64_t size() const { return rows * columns; }
  std::string str() const { return std::to_string(rows) + " x " + std::to_string(columns); }
};
// Tall and narrow as images are, or short and wide as dense layers are.
Matrix any_matrix(Random& random) {
  return between(random, 0, 1) != 0 ? Matrix{between(random, 1, 700), between(random, 1, 40)}
                                    : Matrix{between(random, 1, 30), between(random, 1, 400)};
}

std::vector<double> softmax_of(const std::vector<float>& x, const Matrix& shape) {
  std::vector<double> y(x.size());
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(r * shape.columns + c); };
    double sum = 0;
    for (std::int64_t c = 0; c < shape.columns; ++c) sum += y[at(c)] = std::exp(static_cast<double>(x[at(c)]));
    for (std::int64_t c = 0; c < shape.columns; ++c) y[at(c)] /= sum;
  }
  return y;
}

// Sums over rows of what is in `values`, from partial rows.
void expect_column_sums(const std::vector<float>& partial, const std::vector<float>& values, const Matrix& shape) {
  std::vector<double> expected(static_cast<std::size_t>(shape.columns));
  std::vector<double> sums(expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i % expected.size()] += values[i];
  for (std::size_t i = 0; i < partial.size(); ++i) sums[i % sums.size()] += partial[i];
  for (std::size_t c = 0; c < sums.size(); ++c) ASSERT_NEAR(sums[c], expected[c], 2e-4 * (1 + std::abs(expected[c]))) << "column " << c;
}

}  // namespace

std::vector<KernelCase> activation_cases() {
  std::vector<KernelCase> cases;
  cases.push_back({"bias_activation", [](Random& random, KernelInstance& instance) {
                     const Matrix shape = any_matrix(random);
                     const bool relu = between(random, 0, 1) != 0;
                     const bool biased = between(random, 0, 3) != 0;
                     const auto bias = instance.input(normal(random, biased ? shape.columns : 0));
                     const auto y = instance.in_out(normal(random, shape.size()));
                     instance.shape = shape.str() + (relu ? " relu" : "") + (biased ? " bias" : "");
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "bias_activation", kernels::bias_activation_cost(shape.rows, shape.columns), g, kernels::bias_activation,
                              bias.read(), y.write(), shape.rows, shape.columns, relu);
                     };
                     instance.check = [=] {
                       auto expected = y.initial();
                       for (std::size_t i = 0; i < expected.size(); ++i) {
                         if (biased) expected[i] += bias.initial()[i % static_cast<std::size_t>(shape.columns)];
                         if (relu) expected[i] = std::max(expected[i], 0.0F);
                       }
                       EXPECT_EQ(y.now(), expected);
                     };
                   }});
  cases.push_back({"relu_bias_gradient", [](Random& random, KernelInstance& instance) {
                     const Matrix shape = any_matrix(random);
                     auto outputs = normal(random, shape.size());
                     for (float& value : outputs) value = std::max(value, 0.0F);
                     const auto y = instance.input(outputs);
                     const auto dy = instance.in_out(normal(random, shape.size()));
                     const auto partial = instance.output<float>(kernels::row_chunks(shape.rows) * shape.columns);
                     instance.shape = shape.str();
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "relu_bias_gradient", kernels::relu_bias_gradient_cost(shape.rows, shape.columns), g,
                              kernels::relu_bias_gradient, y.read(), dy.write(), partial.write(), shape.rows, shape.columns);
                     };
                     instance.check = [=] {
                       auto expected = dy.initial();
                       for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = y.initial()[i] > 0 ? expected[i] : 0.0F;
                       EXPECT_EQ(dy.now(), expected);
                       expect_column_sums(partial.now(), expected, shape);
                     };
                   }});
  cases.push_back({"relu_gradient", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     const auto y = instance.input(coarse(random, n));
                     const auto dy = instance.in_out(normal(random, n));
                     instance.shape = std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "relu_gradient", kernels::relu_gradient_cost(n), g, kernels::relu_gradient, y.read(), dy.write());
                     };
                     instance.check = [=] {
                       auto expected = dy.initial();
                       for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = y.initial()[i] > 0 ? expected[i] : 0.0F;
                       EXPECT_EQ(dy.now(), expected);
                     };
                   }});
  cases.push_back({"column_sums", [](Random& random, KernelInstance& instance) {
                     const Matrix shape = any_matrix(random);
                     const auto x = instance.input(normal(random, shape.size()));
                     const auto partial = instance.output<float>(kernels::row_chunks(shape.rows) * shape.columns);
                     instance.shape = shape.str();
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "column_sums", kernels::column_sums_cost(shape.rows, shape.columns), g, kernels::column_sums, x.read(),
                              partial.write(), shape.rows, shape.columns);
                     };
                     instance.check = [=] { expect_column_sums(partial.now(), x.initial(), shape); };
                   }});
  cases.push_back({"add_chunks", [](Random& random, KernelInstance& instance) {
                     const Matrix shape{between(random, 1, 60), between(random, 1, 300)};
                     const auto partial = instance.input(normal(random, shape.size()));
                     const auto sums = instance.output<float>(shape.columns);
                     instance.shape = shape.str();
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "add_chunks", kernels::add_chunks_cost(shape.rows, shape.columns), g, kernels::add_chunks, partial.read(),
                              sums.write(), shape.rows, shape.columns);
                     };
                     instance.check = [=] { expect_column_sums(sums.now(), partial.initial(), shape); };
                   }});
  cases.push_back({"softmax", [](Random& random, KernelInstance& instance) {
                     const Matrix shape{between(random, 1, 40), between(random, 1, 150)};
                     const auto x = instance.input(normal(random, shape.size()));
                     const auto y = instance.output<float>(shape.size());
                     instance.shape = shape.str();
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "softmax", kernels::softmax_cost(shape.rows, shape.columns), g, kernels::softmax, x.read(), y.write(),
                              shape.rows, shape.columns);
                     };
                     instance.check = [=] { expect_close(y.now(), softmax_of(x.initial(), shape), 1e-6); };
                   }});
  cases.push_back({"softmax_gradient", [](Random& random, KernelInstance& instance) {
                     const Matrix shape{between(random, 1, 40), between(random, 1, 150)};
                     const auto p = softmax_of(normal(random, shape.size()), shape);
                     const auto y = instance.input(std::vector<float>(p.begin(), p.end()));
                     const auto dy = instance.in_out(normal(random, shape.size()));
                     instance.shape = shape.str();
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "softmax_gradient", kernels::softmax_gradient_cost(shape.rows, shape.columns), g,
                              kernels::softmax_gradient, y.read(), dy.write(), shape.rows, shape.columns);
                     };
                     instance.check = [=] {
                       std::vector<double> expected(p.size());
                       for (std::int64_t r = 0; r < shape.rows; ++r) {
                         const auto at = [&](std::int64_t c) { return static_cast<std::size_t>(r * shape.columns + c); };
                         double dot = 0;
                         for (std::int64_t c = 0; c < shape.columns; ++c) dot += p[at(c)] * dy.initial()[at(c)];
                         for (std::int64_t c = 0; c < shape.columns; ++c) expected[at(c)] = p[at(c)] * (dy.initial()[at(c)] - dot);
                       }
                       expect_close(dy.now(), expected, 1e-5);
                     };
                   }});
  struct Smooth {
    const char* name;
    void (*forward)(View<float>);
    double (*value)(double);
  };
  for (const Smooth& smooth : {Smooth{"sigmoid", kernels::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
                               Smooth{"hyperbolic_tangent", kernels::hyperbolic_tangent, [](double x) { return std::tanh(x); }}}) {
    cases.push_back({smooth.name, [smooth](Random& random, KernelInstance& instance) {
                       const std::int64_t n = between(random, 1, 3000);
                       std::vector<float> values = normal(random, n);
                       for (float& value : values) value *= 8;  // far enough for both ends
                       const auto y = instance.in_out(values);
                       instance.shape = std::to_string(n);
                       instance.start = [=](const Stream& s, Grid g) {
                         launch(s, smooth.name, kernels::sigmoid_cost(n), g, smooth.forward, y.write());
                       };
                       instance.check = [=] {
                         std::vector<double> expected;
                         for (const float x : y.initial()) expected.push_back(smooth.value(x));
                         expect_close(y.now(), expected, 1e-6);
                       };
                     }});
  }
  struct Slope {
    const char* name;
    void (*backward)(View<const float>, View<float>);
    double (*slope)(double);  // from the output
  };
  for (const Slope& slope :
       {Slope{"sigmoid_gradient", kernels::sigmoid_gradient, [](double y) { return y * (1 - y); }},
        Slope{"hyperbolic_tangent_gradient", kernels::hyperbolic_tangent_gradient, [](double y) { return 1 - y * y; }}}) {
    cases.push_back({slope.name, [slope](Random& random, KernelInstance& instance) {
                       const std::int64_t n = between(random, 1, 3000);
                       std::vector<float> outputs = normal(random, n);
                       for (float& value : outputs) value = std::tanh(value);
                       const auto y = instance.input(outputs);
                       const auto dy = instance.in_out(normal(random, n));
                       instance.shape = std::to_string(n);
                       instance.start = [=](const Stream& s, Grid g) {
                         launch(s, slope.name, kernels::sigmoid_gradient_cost(n), g, slope.backward, y.read(), dy.write());
                       };
                       instance.check = [=] {
                         std::vector<double> expected;
                         for (std::size_t i = 0; i < y.initial().size(); ++i)
                           expected.push_back(dy.initial()[i] * slope.slope(y.initial()[i]));
                         expect_close(dy.now(), expected, 1e-6);
                       };
                     }});
  }
  return cases;
}

}  // namespace lockstep::testing
