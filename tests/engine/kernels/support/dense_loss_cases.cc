// Losses against dense labels, their metrics, and clipping. Gradients are held against central differences of the loss in double.
#include "engine/kernels/clip_kernels.h"
#include "engine/kernels/dense_loss_kernels.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using Row = std::vector<double>;
using RowLoss = double (*)(const Row& outputs, const Row& targets);
using LossKernel = void (*)(View<const float>, View<const float>, float, View<float>, View<float>, std::int64_t, std::int64_t);

constexpr double kLow = 1e-7, kHigh = 1 - 1e-7;

double categorical(const Row& x, const Row& t) {
  double sum = 0, loss = 0;
  for (const double value : x) sum += std::exp(value);
  for (std::size_t c = 0; c < x.size(); ++c) loss -= t[c] * (x[c] - std::log(sum));
  return loss;
}
double categorical_probabilities(const Row& p, const Row& t) {
  double sum = 0, loss = 0;
  for (const double value : p) sum += value;
  for (std::size_t c = 0; c < p.size(); ++c) loss -= t[c] * std::log(std::clamp(p[c] / sum, kLow, kHigh));
  return loss;
}
double binary(const Row& x, const Row& t) {
  double loss = 0;
  for (std::size_t c = 0; c < x.size(); ++c) loss += std::log1p(std::exp(x[c])) - t[c] * x[c];
  return loss / static_cast<double>(x.size());
}
double binary_probabilities(const Row& p, const Row& t) {
  double loss = 0;
  for (std::size_t c = 0; c < p.size(); ++c) {
    const double q = std::clamp(p[c], kLow, kHigh);
    loss -= t[c] * std::log(q) + (1 - t[c]) * std::log(1 - q);
  }
  return loss / static_cast<double>(p.size());
}
double squared(const Row& x, const Row& t) {
  double loss = 0;
  for (std::size_t c = 0; c < x.size(); ++c) loss += (x[c] - t[c]) * (x[c] - t[c]);
  return loss / static_cast<double>(x.size());
}

KernelCase loss_case(const std::string& name, LossKernel kernel, RowLoss loss, bool probabilities, bool one_hot) {
  return {name, [=](Random& random, KernelInstance& instance) {
            const std::int64_t rows = between(random, 1, 40), columns = between(random, probabilities && one_hot ? 2 : 1, 40);
            const bool with_gradient = between(random, 0, 3) != 0;
            std::vector<float> values = normal(random, rows * columns), goals(values.size());
            std::uniform_real_distribution<float> inside(0.05F, 0.95F);
            for (float& value : values) value = probabilities ? inside(random) : value;
            for (std::size_t i = 0; i < goals.size(); ++i) goals[i] = one_hot ? 0.0F : static_cast<float>(between(random, 0, 1));
            if (one_hot) {
              for (std::int64_t r = 0; r < rows; ++r) goals[static_cast<std::size_t>(r * columns + between(random, 0, columns - 1))] = 1;
            }
            const auto outputs = instance.input(values);
            const auto targets = instance.input(goals);
            const auto weights = instance.input(some_weights(random, rows));
            const auto losses = instance.output<float>(rows);
            const auto gradient = instance.output<float>(with_gradient ? rows * columns : 0);
            const float scale = 0.25F;
            instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
            instance.start = [=](const Stream& s, Grid g) {
              launch(s, name.c_str(), kernels::dense_loss_cost(rows, columns, with_gradient), g, kernel, outputs.read(), targets.read(),
                     scale, losses.write(), gradient.write(), rows, columns);
            };
            instance.check = [=] {
              std::vector<double> expected, slopes;
              for (std::int64_t r = 0; r < rows; ++r) {
                const auto row = [&](const std::vector<float>& all) {
                  return Row(all.begin() + r * columns, all.begin() + (r + 1) * columns);
                };
                Row x = row(outputs.initial());
                const Row t = row(targets.initial());
                expected.push_back(loss(x, t));
                for (double& at : x) {
                  const double here = at, h = 1e-5;
                  at = here + h;
                  const double above = loss(x, t);
                  at = here - h;
                  slopes.push_back((above - loss(x, t)) / (2 * h) * 0.25);
                  at = here;
                }
              }
              expect_close(losses.now(), expected, 2e-6);
              if (with_gradient) expect_close(gradient.now(), slopes, 5e-6);
            };
          }};
}

void make_categorical_correct(Random& random, KernelInstance& instance) {
  const std::int64_t rows = between(random, 1, 300), columns = between(random, 1, 9);
  const auto scores = instance.input(coarse(random, rows * columns));
  const auto targets = instance.input(coarse(random, rows * columns));
  const auto weights = instance.input(some_weights(random, rows));
  const auto sum = instance.in_out(std::vector<double>{2});
  instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "add_categorical_correct", kernels::dense_loss_cost(rows, columns, false), g, kernels::add_categorical_correct, scores.read(),
           targets.read(), weights.read(), sum.write(), rows, columns);
  };
  instance.check = [=] {
    double expected = 2;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto best = [&](const std::vector<float>& all) {
        return std::max_element(all.begin() + r * columns, all.begin() + (r + 1) * columns) - all.begin();
      };
      expected += best(scores.initial()) == best(targets.initial()) ? weight_at(weights.initial(), r) : 0;
    }
    EXPECT_EQ(sum.now()[0], expected);
  };
}

void make_binary_correct(Random& random, KernelInstance& instance) {
  const std::int64_t rows = between(random, 1, 300), columns = between(random, 1, 4);
  const auto scores = instance.input(coarse(random, rows * columns));
  std::vector<float> goals(static_cast<std::size_t>(rows * columns));
  for (float& goal : goals) goal = static_cast<float>(between(random, 0, 1));
  const auto targets = instance.input(goals);
  const auto weights = instance.input(some_weights(random, rows));
  const auto sum = instance.in_out(std::vector<double>{2});
  instance.shape = std::to_string(rows) + " x " + std::to_string(columns);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "add_binary_correct", kernels::dense_loss_cost(rows, columns, false), g, kernels::add_binary_correct, scores.read(),
           targets.read(), weights.read(), 1.0F, sum.write(), rows, columns);
  };
  instance.check = [=] {
    double right = 0;
    for (std::size_t i = 0; i < goals.size(); ++i) {
      const double weight = weight_at(weights.initial(), static_cast<std::int64_t>(i) / columns);
      right += (scores.initial()[i] > 1.0F) == (goals[i] == 1.0F) ? weight : 0;
    }
    EXPECT_NEAR(sum.now()[0], 2 + right / static_cast<double>(columns), 1e-9);
  };
}

void make_clip_value(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const auto x = instance.in_out(normal(random, n));
  instance.shape = std::to_string(n);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "clip_value", kernels::clip_cost(n), g, kernels::clip_value, 0.5F, x.write());
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (const float value : x.initial()) expected.push_back(std::clamp(value, -0.5F, 0.5F));
    expect_close(x.now(), expected, 0);
  };
}

void make_square_sums(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 9000), parts = between(random, 1, 70);
  const auto x = instance.input(normal(random, n));
  const auto sums = instance.output<double>(parts);
  instance.shape = std::to_string(n) + " in " + std::to_string(parts);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "square_sums", kernels::clip_cost(n), g, kernels::square_sums, x.read(), sums.write());
  };
  instance.check = [=] {
    double total = 0, expected = 0;
    for (const double sum : sums.now()) total += sum;
    for (const float value : x.initial()) expected += static_cast<double>(value) * value;
    EXPECT_NEAR(total, expected, 1e-9 * expected);
  };
}

void make_clip_norm(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 9000);
  const auto x = instance.in_out(normal(random, n));
  const auto parts = instance.input(std::vector<double>{4, between(random, 0, 1) != 0 ? 5.0 : 0.0, 0});
  instance.shape = std::to_string(n);
  instance.start = [=](const Stream& s, Grid g) {
    launch(s, "clip_norm", kernels::clip_cost(n), g, kernels::clip_norm, 2.5F, parts.read(), x.write());
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (const float value : x.initial()) expected.push_back(parts.initial()[1] > 0 ? value * 2.5 / 3 : value);
    expect_close(x.now(), expected, 1e-6);
  };
}

}  // namespace

std::vector<KernelCase> dense_loss_cases() {
  return {loss_case("categorical_cross_entropy", kernels::categorical_cross_entropy, categorical, false, true),
          loss_case("categorical_cross_entropy_probabilities", kernels::categorical_cross_entropy_probabilities, categorical_probabilities,
                    true, true),
          loss_case("binary_cross_entropy", kernels::binary_cross_entropy, binary, false, false),
          loss_case("binary_cross_entropy_probabilities", kernels::binary_cross_entropy_probabilities, binary_probabilities, true, false),
          loss_case("mean_squared_error", kernels::mean_squared_error, squared, false, false),
          {"add_categorical_correct", make_categorical_correct},
          {"add_binary_correct", make_binary_correct},
          {"clip_value", make_clip_value},
          {"square_sums", make_square_sums},
          {"clip_norm", make_clip_norm}};
}

}  // namespace lockstep::testing
