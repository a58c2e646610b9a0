// Optimizers over 20 steps against the same formulas in double.
#include "optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/error.h"
#include "lockstep/optimizers.h"
#include "support/reference.h"
#include "support/runner.h"

namespace lockstep::test {
namespace {

struct Reference {
  std::function<void(double& weight, double gradient, double& a, double& b, int step)> rule;
};

void check(const Optimizer& optimizer, const Reference& reference, double tolerance) {
  std::mt19937 random(40);
  Runner runner({Dense(7, "relu"), Dense(5)}, Shape{11}, 2);
  const auto n = static_cast<std::size_t>(runner.graph.layout().trainable_elements());
  Values start = random_values(static_cast<std::int64_t>(n), random);
  runner.write(runner.variables.weights(), start.data());
  runner.variables.make_slots(optimizer.impl()->slots());
  Doubles weights = doubles(start), a(n), b(n);
  const std::uint64_t allocations = runner.gpu.arena().allocations();
  for (int step = 1; step <= 20; ++step) {
    Values gradient = random_values(static_cast<std::int64_t>(n), random, -0.1F, 0.1F);
    gradient[3] = 0;  // and one that never moves
    runner.write(runner.variables.gradients(), gradient.data());
    optimizer.impl()->update(runner.context(), runner.variables, step);
    for (std::size_t i = 0; i < n; ++i) reference.rule(weights[i], gradient[i], a[i], b[i], step);
    const Values got = runner.read(runner.variables.weights());
    double largest_move = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(got[i], weights[i], tolerance) << "step " << step << " element " << i;
      largest_move = std::max(largest_move, std::fabs(weights[i] - start[i]));
    }
    ASSERT_GT(largest_move, 10 * tolerance) << "the weights must have moved by more than what is tolerated";
    ASSERT_EQ(got[3], start[3]);
  }
  EXPECT_EQ(runner.gpu.arena().allocations(), allocations);
}

TEST(Adam, FollowsItsFormula) {
  for (const auto& [rate, b1, b2, eps] : {std::tuple{1e-3F, 0.9F, 0.999F, 1e-7F}, std::tuple{0.05F, 0.8F, 0.95F, 1e-3F}}) {
    const double lr = rate, beta_1 = b1, beta_2 = b2, epsilon = eps;
    check(Adam(rate, b1, b2, eps), {[=](double& w, double g, double& m, double& v, int t) {
            const double alpha = lr * std::sqrt(1 - std::pow(beta_2, t)) / (1 - std::pow(beta_1, t));
            m += (g - m) * (1 - beta_1);
            v += (g * g - v) * (1 - beta_2);
            w -= m * alpha / (std::sqrt(v) + epsilon);
          }},
          4e-3 * lr);
  }
}

TEST(SGD, FollowsItsFormulaWithEveryKindOfMomentum) {
  check(SGD(0.1F), {[](double& w, double g, double&, double&, int) { w -= 0.1F * g; }}, 1e-5);
  check(SGD(0.1F, 0.9F), {[](double& w, double g, double& v, double&, int) {
          v = 0.9F * v - 0.1F * g;
          w += v;
        }},
        1e-5);
  check(SGD(0.1F, 0.9F, true), {[](double& w, double g, double& v, double&, int) {
          v = 0.9F * v - 0.1F * g;
          w += 0.9F * v - 0.1F * g;
        }},
        1e-5);
}

TEST(SGD, NeedsNoSlotWithoutMomentum) {
  EXPECT_EQ(SGD().impl()->slots(), 0);
  EXPECT_EQ(SGD(0.1F, 0.5F).impl()->slots(), 1);
  EXPECT_EQ(Adam().impl()->slots(), 2);
}

TEST(Optimizer, NamesAndDefaultsAreThoseOfKeras) {
  EXPECT_FLOAT_EQ(Optimizer("adam").learning_rate(), 1e-3F);
  EXPECT_FLOAT_EQ(Optimizer("sgd").learning_rate(), 0.01F);
  EXPECT_EQ(Optimizer("adam").name(), "adam");
  EXPECT_THROW(Optimizer("adagrad"), Error);
}

TEST(Optimizer, TheLearningRateCanChange) {
  Optimizer optimizer = SGD(0.1F);
  const Optimizer same = optimizer;
  optimizer.set_learning_rate(0.5F);
  EXPECT_FLOAT_EQ(same.learning_rate(), 0.5F);
  EXPECT_THROW(optimizer.set_learning_rate(-1), Error);
  EXPECT_THROW(optimizer.set_learning_rate(NAN), Error);
}

TEST(Optimizer, NonsenseIsRefused) {
  EXPECT_THROW(Adam(-1), Error);
  EXPECT_THROW(Adam(1e-3F, 1.0F), Error);
  EXPECT_THROW(Adam(1e-3F, 0.9F, 0.999F, 0), Error);
  EXPECT_THROW(SGD(0.1F, -0.1F), Error);
}

}  // namespace
}  // namespace lockstep::test
