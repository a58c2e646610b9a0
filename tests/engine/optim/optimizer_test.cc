// Optimizers over 20 steps against the same formulas in double.
#include "engine/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/error.h"
#include "lockstep/optimizers.h"
#include "tests/engine/nn/support/reference.h"
#include "tests/engine/nn/support/runner.h"

namespace lockstep::test {
namespace {

struct Reference {
  std::function<void(double& weight, double gradient, double& a, double& b, int step)> rule;
};

void check(const Optimizer& optimizer, const Reference& reference, double tolerance, bool shrinks = false) {
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
    if (!shrinks) {
      ASSERT_EQ(got[3], start[3]);
    }
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

// Keras: the weights shrink first, then Adam.
TEST(AdamW, FollowsItsFormula) {
  check(AdamW(0.01F, 0.1F), {[](double& w, double g, double& m, double& v, int t) {
          w -= w * 0.1 * 0.01;
          const double alpha = 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
          m += (g - m) * 0.1;
          v += (g * g - v) * 0.001;
          w -= m * alpha / (std::sqrt(v) + 1e-7);
        }},
        4e-5, true);
}

TEST(Nadam, FollowsItsFormula) {
  for (const auto& [rate, b1, b2, eps] : {std::tuple{1e-3F, 0.9F, 0.999F, 1e-7F}, std::tuple{0.05F, 0.8F, 0.95F, 1e-3F}}) {
    const double lr = rate, beta_1 = b1, beta_2 = b2, epsilon = eps;
    check(Nadam(rate, b1, b2, eps), {[=](double& w, double g, double& m, double& v, int t) {
            const auto u = [=](int step) { return beta_1 * (1 - 0.5 * std::pow(0.96, step)); };
            double product = 1;
            for (int step = 1; step <= t; ++step) product *= u(step);
            m += (g - m) * (1 - beta_1);
            v += (g * g - v) * (1 - beta_2);
            const double momentum = u(t + 1) * m / (1 - product * u(t + 1)) + (1 - u(t)) * g / (1 - product);
            w -= lr * momentum / (std::sqrt(v / (1 - std::pow(beta_2, t))) + epsilon);
          }},
          4e-3 * lr);
  }
}

TEST(LearningRate, FollowsItsSchedule) {
  EXPECT_FLOAT_EQ(ExponentialDecay(0.1F, 10, 0.5F).at(20), 0.025F);
  EXPECT_FLOAT_EQ(ExponentialDecay(0.1F, 10, 0.5F).at(5), 0.1F * std::sqrt(0.5F));
  EXPECT_FLOAT_EQ(ExponentialDecay(0.1F, 10, 0.5F, true).at(19), 0.05F);
  EXPECT_FLOAT_EQ(CosineDecay(0.2F, 100).at(0), 0.2F);
  EXPECT_FLOAT_EQ(CosineDecay(0.2F, 100).at(50), 0.1F);
  EXPECT_FLOAT_EQ(CosineDecay(0.2F, 100, 0.25F).at(1000), 0.05F);
  const PiecewiseConstantDecay steps({3, 7}, {0.3F, 0.2F, 0.1F});
  EXPECT_FLOAT_EQ(steps.at(3), 0.3F);  // Keras: a boundary still belongs to what is before it
  EXPECT_FLOAT_EQ(steps.at(4), 0.2F);
  EXPECT_FLOAT_EQ(steps.at(8), 0.1F);
  EXPECT_THROW(PiecewiseConstantDecay({1}, {0.1F}), Error);
  EXPECT_THROW(CosineDecay(0.1F, 0), Error);
  Optimizer optimizer = SGD(steps);
  EXPECT_FLOAT_EQ(optimizer.impl()->learning_rate(4), 0.3F);  // the fourth update has three before it
  EXPECT_FLOAT_EQ(optimizer.impl()->learning_rate(5), 0.2F);
  EXPECT_THROW(optimizer.set_learning_rate(0.1F), Error);
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
  for (const char* name : {"adam", "adamw", "nadam", "sgd"}) EXPECT_EQ(Optimizer(name).name(), name);
  EXPECT_THROW(Nadam().embedding_gradients("both"), Error);
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
