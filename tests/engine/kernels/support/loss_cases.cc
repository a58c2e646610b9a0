// Cross-entropy and running sums. One label in ten lies outside the classes.
#include "engine/kernels/loss_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

std::vector<std::int32_t> some_labels(Random& random, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  for (auto& label : labels) {
    label = static_cast<std::int32_t>(between(random, 0, 9) == 0 ? (between(random, 0, 1) != 0 ? columns : -1)
                                                                 : between(random, 0, columns - 1));
  }
  return labels;
}

}  // namespace

std::vector<KernelCase> loss_cases() {
  std::vector<KernelCase> cases;
  cases.push_back({"sparse_cross_entropy", [](Random& random, KernelInstance& instance) {
                     const std::int64_t rows = between(random, 1, 70);
                     const std::int64_t columns = between(random, 1, 100);
                     const bool gradient = between(random, 0, 3) != 0;
                     const float scale = 1.0F / 64;
                     const auto logits = instance.input(normal(random, rows * columns));
                     const auto labels = instance.input(some_labels(random, rows, columns));
                     const auto losses = instance.output<float>(rows);
                     const auto dlogits = instance.output<float>(gradient ? rows * columns : 0);
                     instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "sparse_cross_entropy", kernels::sparse_cross_entropy_cost(rows, columns, gradient), g,
                              kernels::sparse_cross_entropy, logits.read(), labels.read(), scale, losses.write(), dlogits.write(), rows,
                              columns);
                     };
                     instance.check = [=] {
                       std::vector<double> loss, d;
                       for (std::int64_t r = 0; r < rows; ++r) {
                         const float* x = logits.initial().data() + r * columns;
                         const std::int64_t label = labels.initial()[static_cast<std::size_t>(r)];
                         const bool known = label >= 0 && label < columns;
                         double sum = 0;
                         for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(x[c]));
                         loss.push_back(known ? std::log(sum) - x[label] : NAN);
                         for (std::int64_t c = 0; gradient && c < columns; ++c) {
                           d.push_back(known ? (std::exp(static_cast<double>(x[c])) / sum - (c == label ? 1 : 0)) * scale : NAN);
                         }
                       }
                       expect_close(losses.now(), loss, 2e-6);
                       expect_close(dlogits.now(), d, 1e-7);
                     };
                   }});
  cases.push_back({"sparse_cross_entropy_probabilities", [](Random& random, KernelInstance& instance) {
                     const std::int64_t rows = between(random, 1, 70);
                     const std::int64_t columns = between(random, 2, 100);
                     const bool gradient = between(random, 0, 3) != 0;
                     const float scale = 1.0F / 64;
                     std::vector<float> values(static_cast<std::size_t>(rows * columns));
                     for (float& value : values)
                       value = between(random, 0, 4) == 0 ? 0.0F : std::uniform_real_distribution<float>(1e-3F, 1)(random);
                     const auto probabilities = instance.input(values);
                     const auto labels = instance.input(some_labels(random, rows, columns));
                     const auto losses = instance.output<float>(rows);
                     const auto dp = instance.output<float>(gradient ? rows * columns : 0);
                     instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "sparse_cross_entropy_probabilities",
                              kernels::sparse_cross_entropy_probabilities_cost(rows, columns, gradient), g,
                              kernels::sparse_cross_entropy_probabilities, probabilities.read(), labels.read(), scale, losses.write(),
                              dp.write(), rows, columns);
                     };
                     instance.check = [=] {
                       const double low = 1e-7F;
                       const double high = 1.0F - 1e-7F;
                       std::vector<double> loss, d;
                       for (std::int64_t r = 0; r < rows; ++r) {
                         const float* p = probabilities.initial().data() + r * columns;
                         const std::int64_t label = labels.initial()[static_cast<std::size_t>(r)];
                         const bool known = label >= 0 && label < columns;
                         double sum = 0;
                         for (std::int64_t c = 0; c < columns; ++c) sum += std::clamp(static_cast<double>(p[c]), low, high);
                         const double at_label = known ? std::clamp(static_cast<double>(p[label]), low, high) : NAN;
                         loss.push_back(-std::log(at_label / sum));
                         for (std::int64_t c = 0; gradient && c < columns; ++c) {
                           const bool clipped = p[c] < low || p[c] > high;
                           d.push_back(!known ? NAN : (clipped ? 0 : (1 / sum - (c == label ? 1 / at_label : 0)) * scale));
                         }
                       }
                       expect_close(losses.now(), loss, 3e-6);
                       expect_close(dp.now(), d, 1e-5);
                     };
                   }});
  cases.push_back({"add_to_sum", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 1000);
                     const auto values = instance.input(normal(random, n));
                     const auto sum = instance.in_out(std::vector<double>{7});
                     instance.shape = std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "add_to_sum", kernels::add_to_sum_cost(n), g, kernels::add_to_sum, values.read(), sum.write());
                     };
                     instance.check = [=] {
                       double expected = 7;
                       for (const float value : values.initial()) expected += value;
                       EXPECT_NEAR(sum.now()[0], expected, 1e-11 * static_cast<double>(n));
                     };
                   }});
  cases.push_back({"add_correct", [](Random& random, KernelInstance& instance) {
                     const std::int64_t rows = between(random, 1, 300);
                     const std::int64_t columns = between(random, 1, 20);
                     auto values = coarse(random, rows * columns);
                     values[static_cast<std::size_t>(between(random, 0, rows * columns - 1))] = NAN;
                     const auto scores = instance.input(values);
                     const auto labels = instance.input(some_labels(random, rows, columns));
                     const auto weights = instance.input(some_weights(random, rows));
                     const auto sum = instance.in_out(std::vector<double>{3});
                     instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "add_correct", kernels::add_correct_cost(rows, columns), g, kernels::add_correct, scores.read(),
                              labels.read(), weights.read(), sum.write(), rows, columns);
                     };
                     instance.check = [=] {
                       double expected = 3;
                       for (std::int64_t r = 0; r < rows; ++r) {
                         const float* s = scores.initial().data() + r * columns;
                         if (std::any_of(s, s + columns, [](float v) { return std::isnan(v); })) continue;
                         expected += std::max_element(s, s + columns) - s == labels.initial()[static_cast<std::size_t>(r)]
                                         ? weight_at(weights.initial(), r)
                                         : 0;
                       }
                       EXPECT_EQ(sum.now()[0], expected);
                     };
                   }});
  cases.push_back({"weigh_samples", [](Random& random, KernelInstance& instance) {
                     const std::int64_t rows = between(random, 1, 60);
                     const std::int64_t columns = between(random, 1, 40);
                     const bool gradient = between(random, 0, 3) != 0;
                     const auto weights = instance.input(normal(random, rows));
                     const auto losses = instance.in_out(normal(random, rows));
                     const auto dx = instance.in_out(normal(random, gradient ? rows * columns : 0));
                     instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "weigh_samples", kernels::weigh_samples_cost(rows, columns, gradient), g, kernels::weigh_samples,
                              weights.read(), losses.write(), dx.write(), rows, columns);
                     };
                     instance.check = [=] {
                       std::vector<double> loss, d;
                       for (std::int64_t r = 0; r < rows; ++r) {
                         const double weight = weights.initial()[static_cast<std::size_t>(r)];
                         loss.push_back(weight * losses.initial()[static_cast<std::size_t>(r)]);
                         for (std::int64_t c = 0; gradient && c < columns; ++c)
                           d.push_back(weight * dx.initial()[static_cast<std::size_t>(r * columns + c)]);
                       }
                       expect_close(losses.now(), loss, 1e-7);
                       expect_close(dx.now(), d, 1e-7);
                     };
                   }});
  return cases;
}

}  // namespace lockstep::testing
