// Padding, the mean over whole images, and flips.
#include "engine/kernels/image_kernels.h"

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::PaddingShape;
using kernels::RandomKey;

std::int32_t pick(Random& random, std::int64_t low, std::int64_t high) { return static_cast<std::int32_t>(between(random, low, high)); }

PaddingShape any_padding(Random& random) {
  return {pick(random, 1, 3), pick(random, 1, 8), pick(random, 1, 8), pick(random, 1, 40),
          pick(random, 0, 2), pick(random, 0, 2), pick(random, 0, 2), pick(random, 0, 2)};
}
std::int64_t small(const PaddingShape& s) { return static_cast<std::int64_t>(s.batch) * s.height * s.width * s.channels; }
std::int64_t large(const PaddingShape& s) {
  return static_cast<std::int64_t>(s.batch) * (s.height + s.top + s.bottom) * (s.width + s.left + s.right) * s.channels;
}
// f(element of the smaller image, the same element of the larger one)
template <typename Function>
void each_inner(const PaddingShape& s, Function f) {
  std::size_t i = 0;
  for (int n = 0; n < s.batch; ++n)
    for (int y = 0; y < s.height; ++y)
      for (int x = 0; x < s.width; ++x)
        for (int c = 0; c < s.channels; ++c)
          f(i++, static_cast<std::size_t>(
                     ((n * (s.height + s.top + s.bottom) + y + s.top) * (s.width + s.left + s.right) + x + s.left) * s.channels + c));
}

void padding(Random& random, KernelInstance& instance) {
  const PaddingShape s = any_padding(random);
  const auto x = instance.input(normal(random, small(s)));
  const auto y = instance.output<float>(large(s));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "zero_padding", kernels::zero_padding_cost(s), g, kernels::zero_padding, s, x.read(), y.write());
  };
  instance.check = [=] {
    std::vector<double> expected(y.initial().size());
    each_inner(s, [&](std::size_t in, std::size_t out) { expected[out] = x.initial()[in]; });
    expect_close(y.now(), expected, 0);
  };
}

void padding_gradient(Random& random, KernelInstance& instance) {
  const PaddingShape s = any_padding(random);
  const auto dy = instance.input(normal(random, large(s)));
  const auto dx = instance.output<float>(small(s));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "zero_padding_gradient", kernels::zero_padding_gradient_cost(s), g, kernels::zero_padding_gradient, s, dy.read(),
           dx.write());
  };
  instance.check = [=] {
    std::vector<double> expected(dx.initial().size());
    each_inner(s, [&](std::size_t in, std::size_t out) { expected[in] = dy.initial()[out]; });
    expect_close(dx.now(), expected, 0);
  };
}

void global_average(Random& random, KernelInstance& instance) {
  const std::int64_t batch = between(random, 1, 4), pixels = between(random, 1, 60), channels = between(random, 1, 70);
  const auto x = instance.input(normal(random, batch * pixels * channels));
  const auto y = instance.output<float>(batch * channels);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "global_average_pooling", kernels::global_average_pooling_cost(batch, pixels, channels), g,
           kernels::global_average_pooling, x.read(), y.write(), batch, pixels, channels);
  };
  instance.check = [=] {
    std::vector<double> expected(y.initial().size());
    for (std::int64_t i = 0; i < batch * pixels * channels; ++i)
      expected[static_cast<std::size_t>(i / (pixels * channels) * channels + i % channels)] +=
          x.initial()[static_cast<std::size_t>(i)] / static_cast<double>(pixels);
    expect_close(y.now(), expected, 1e-6);
  };
}

void global_average_gradient(Random& random, KernelInstance& instance) {
  const std::int64_t batch = between(random, 1, 4), pixels = between(random, 1, 60), channels = between(random, 1, 70);
  const auto dy = instance.input(normal(random, batch * channels));
  const auto dx = instance.output<float>(batch * pixels * channels);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "global_average_pooling_gradient", kernels::global_average_pooling_gradient_cost(batch, pixels, channels), g,
           kernels::global_average_pooling_gradient, dy.read(), dx.write(), batch, pixels, channels);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (std::int64_t i = 0; i < batch * pixels * channels; ++i)
      expected.push_back(dy.initial()[static_cast<std::size_t>(i / (pixels * channels) * channels + i % channels)] /
                         static_cast<double>(pixels));
    expect_close(dx.now(), expected, 1e-6);
  };
}

void flip(Random& random, KernelInstance& instance) {
  const RandomKey key = any_key(random);
  const std::int32_t batch = pick(random, 1, 6), height = pick(random, 1, 6), width = pick(random, 1, 6), channels = pick(random, 1, 5);
  const bool horizontal = between(random, 0, 2) != 0, vertical = between(random, 0, 2) != 0;
  const auto x = instance.input(normal(random, static_cast<std::int64_t>(batch) * height * width * channels));
  const auto y = instance.output<float>(static_cast<std::int64_t>(x.initial().size()));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "random_flip", kernels::random_flip_cost(static_cast<std::int64_t>(x.initial().size())), g, kernels::random_flip, key,
           x.read(), y.write(), height, width, channels, horizontal, vertical);
  };
  instance.check = [=] {
    std::vector<double> expected;
    for (int n = 0; n < batch; ++n) {
      const PhiloxCounter draw = kernels::random_words(key, n, 0);
      const bool left_right = horizontal && draw.x < 0x80000000U, up_down = vertical && draw.y < 0x80000000U;
      for (int r = 0; r < height; ++r)
        for (int q = 0; q < width; ++q)
          for (int c = 0; c < channels; ++c) {
            const int from_r = up_down ? height - 1 - r : r, from_q = left_right ? width - 1 - q : q;
            expected.push_back(x.initial()[static_cast<std::size_t>(((n * height + from_r) * width + from_q) * channels + c)]);
          }
    }
    expect_close(y.now(), expected, 0);
  };
}

}  // namespace

std::vector<KernelCase> image_cases() {
  return {{"zero_padding", padding},
          {"zero_padding_gradient", padding_gradient},
          {"global_average_pooling", global_average},
          {"global_average_pooling_gradient", global_average_gradient},
          {"random_flip", flip}};
}

}  // namespace lockstep::testing
