// Kernels that work on one element at a time.
#include "engine/kernels/pointwise_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::RandomKey;

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

void sum_of_two(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const auto x = instance.input(normal(random, n));
  const auto y = instance.input(normal(random, n));
  const auto z = instance.output<float>(n);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "sum_of_two", kernels::sum_of_two_cost(n), g, kernels::sum_of_two, x.read(), y.read(), z.write());
  };
  instance.check = [=] {
    std::vector<double> expected = doubles(x.initial());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += y.initial()[i];
    expect_close(z.now(), expected, 1e-6);
  };
}

void clip(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  auto values = normal(random, n);
  values[0] = NAN;
  const auto x = instance.input(values);
  const auto y = instance.output<float>(n);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "clip", kernels::clip_cost(n), g, kernels::clip, x.read(), y.write(), 0.0F, 1.0F);
  };
  instance.check = [=] {
    std::vector<double> expected = doubles(x.initial());
    for (double& value : expected) value = value < 0 ? 0 : (value > 1 ? 1 : value);
    expect_close(y.now(), expected, 0);
  };
}

void clip_gradient(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const auto y = instance.input(coarse(random, n));
  const auto dy = instance.in_out(normal(random, n));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "clip_gradient", kernels::clip_gradient_cost(n), g, kernels::clip_gradient, y.read(), dy.write(), 0.0F, 2.0F);
  };
  instance.check = [=] {
    std::vector<double> expected = doubles(dy.initial());
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (y.initial()[i] <= 0 || y.initial()[i] >= 2) expected[i] = 0;
    expect_close(dy.now(), expected, 0);
  };
}

void scale_and_shift(Random& random, KernelInstance& instance) {
  const std::int64_t n = between(random, 1, 3000);
  const auto x = instance.input(normal(random, n));
  const auto y = instance.output<float>(n);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "scale_and_shift", kernels::scale_and_shift_cost(n), g, kernels::scale_and_shift, x.read(), y.write(), 0.25F, -1.0F);
  };
  instance.check = [=] {
    std::vector<double> expected = doubles(x.initial());
    for (double& value : expected) value = value / 4 - 1;
    expect_close(y.now(), expected, 1e-6);
  };
}

void dropout(Random& random, KernelInstance& instance) {
  const RandomKey key = any_key(random);
  const std::int64_t batch = between(random, 1, 5), elements = between(random, 1, 500);
  const auto x = instance.input(normal(random, batch * elements));
  const auto y = instance.output<float>(batch * elements);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "dropout", kernels::dropout_cost(batch * elements), g, kernels::dropout, key, x.read(), y.write(), elements, 0.25F);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t i = 0; i < elements; ++i) {
        const PhiloxCounter draw = kernels::random_words(key, n, i / 4);
        const std::uint32_t words[4] = {draw.x, draw.y, draw.z, draw.w};
        const double value = x.initial()[static_cast<std::size_t>(n * elements + i)];
        expected.push_back(words[i % 4] >= 0x40000000U ? value / 0.75 : 0);
      }
    expect_close(y.now(), expected, 1e-6);
  };
}

}  // namespace

std::vector<KernelCase> pointwise_cases() {
  return {{"sum_of_two", sum_of_two},
          {"clip", clip},
          {"clip_gradient", clip_gradient},
          {"scale_and_shift", scale_and_shift},
          {"dropout", dropout}};
}

}  // namespace lockstep::testing
