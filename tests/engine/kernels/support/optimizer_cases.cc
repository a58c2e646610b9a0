// Adam and SGD.
#include "engine/kernels/optimizer_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

std::vector<KernelCase> optimizer_cases() {
  std::vector<KernelCase> cases;
  cases.push_back({"adam", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     auto squares = normal(random, n);
                     for (float& square : squares) square *= square;
                     const bool given = between(random, 0, 1) != 0;
                     const auto gradient = instance.input(normal(random, n));
                     const auto sums = instance.input(squares);
                     const auto weights = instance.in_out(normal(random, n));
                     const auto m = instance.in_out(normal(random, n));
                     const auto v = instance.in_out(squares);
                     instance.shape = std::to_string(n) + (given ? " with squares" : "");
                     instance.start = [=](const Stream& s, Grid g) {
                       const View<const float> second = given ? sums.read() : View<const float>{};
                       const kernels::AdamConstants constants{2e-3F, 0.1F, 0.001F, 1e-7F};
                       launch(s, "adam", kernels::adam_cost(n), g, kernels::adam, constants, gradient.read(), second, weights.write(),
                              m.write(), v.write());
                     };
                     instance.check = [=] {
                       std::vector<double> w1, m1, v1;
                       for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                         const double g = gradient.initial()[i];
                         m1.push_back(0.9 * m.initial()[i] + 0.1 * g);
                         v1.push_back(0.999 * v.initial()[i] + 0.001 * (given ? sums.initial()[i] : g * g));
                         w1.push_back(weights.initial()[i] - 2e-3 * m1[i] / (std::sqrt(v1[i]) + 1e-7));
                       }
                       expect_close(m.now(), m1, 1e-6);
                       expect_close(v.now(), v1, 1e-6);
                       expect_close(weights.now(), w1, 1e-5);
                     };
                   }});
  cases.push_back({"sgd", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     const auto gradient = instance.input(normal(random, n));
                     const auto weights = instance.in_out(normal(random, n));
                     instance.shape = std::to_string(n);
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "sgd", kernels::sgd_cost(n), g, kernels::sgd, 0.1F, gradient.read(), weights.write());
                     };
                     instance.check = [=] {
                       std::vector<double> expected;
                       for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
                         expected.push_back(weights.initial()[i] - 0.1 * gradient.initial()[i]);
                       expect_close(weights.now(), expected, 1e-6);
                     };
                   }});
  cases.push_back({"sgd_momentum", [](Random& random, KernelInstance& instance) {
                     const std::int64_t n = between(random, 1, 3000);
                     const bool nesterov = between(random, 0, 1) != 0;
                     const auto gradient = instance.input(normal(random, n));
                     const auto weights = instance.in_out(normal(random, n));
                     const auto m = instance.in_out(normal(random, n));
                     instance.shape = std::to_string(n) + (nesterov ? " nesterov" : "");
                     instance.start = [=](const Stream& s, Grid g) {
                       launch(s, "sgd_momentum", kernels::sgd_momentum_cost(n), g, kernels::sgd_momentum, 0.1F, 0.9F, nesterov,
                              gradient.read(), weights.write(), m.write());
                     };
                     instance.check = [=] {
                       std::vector<double> w1, m1;
                       for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                         const double step = 0.1 * gradient.initial()[i];
                         m1.push_back(0.9 * m.initial()[i] - step);
                         w1.push_back(weights.initial()[i] + (nesterov ? 0.9 * m1[i] - step : m1[i]));
                       }
                       expect_close(m.now(), m1, 1e-6);
                       expect_close(weights.now(), w1, 1e-6);
                     };
                   }});
  return cases;
}

}  // namespace lockstep::testing
