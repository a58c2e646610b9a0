// Padding, average pooling, flips, and the kernels that work on one element at a time.
#include "engine/kernels/image_kernels.h"

#include "engine/kernels/pointwise_kernels.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::PaddingShape;
using kernels::PoolShape;
using kernels::RandomKey;

std::int32_t pick(Random& random, std::int64_t low, std::int64_t high) { return static_cast<std::int32_t>(between(random, low, high)); }

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

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

PoolShape any_pool(Random& random) {
  PoolShape s{};
  s.batch = pick(random, 1, 3), s.channels = pick(random, 1, 40);
  s.pool_h = pick(random, 1, 4), s.pool_w = pick(random, 1, 4), s.stride_h = pick(random, 1, 4), s.stride_w = pick(random, 1, 4);
  s.pad_top = pick(random, 0, s.pool_h - 1), s.pad_left = pick(random, 0, s.pool_w - 1);
  s.height = pick(random, s.pool_h, 12), s.width = pick(random, s.pool_w, 12);
  // Every window has at least one pixel of the image, as "same" gives them.
  s.out_height = std::min((s.height + s.pad_top - 1) / s.stride_h + 1, (s.height + s.pad_top) / s.stride_h);
  s.out_width = std::min((s.width + s.pad_left - 1) / s.stride_w + 1, (s.width + s.pad_left) / s.stride_w);
  s.out_height = std::max(s.out_height, 1), s.out_width = std::max(s.out_width, 1);
  return s;
}
// f(input element, output element, share of it)
template <typename Function>
void each_share(const PoolShape& s, Function f) {
  for (int n = 0; n < s.batch; ++n)
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox) {
        std::vector<int> pixels;
        for (int y = oy * s.stride_h - s.pad_top; y < oy * s.stride_h - s.pad_top + s.pool_h; ++y)
          for (int x = ox * s.stride_w - s.pad_left; x < ox * s.stride_w - s.pad_left + s.pool_w; ++x)
            if (y >= 0 && y < s.height && x >= 0 && x < s.width) pixels.push_back((n * s.height + y) * s.width + x);
        for (const int p : pixels)
          for (int c = 0; c < s.channels; ++c)
            f(static_cast<std::size_t>(p * s.channels + c),
              static_cast<std::size_t>(((n * s.out_height + oy) * s.out_width + ox) * s.channels + c),
              1.0 / static_cast<double>(pixels.size()));
      }
}

void average(Random& random, KernelInstance& instance) {
  const PoolShape s = any_pool(random);
  const auto x = instance.input(normal(random, static_cast<std::int64_t>(kernels::pool_inputs(s))));
  const auto y = instance.output<float>(static_cast<std::int64_t>(kernels::pool_outputs(s)));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "average_pooling", kernels::average_pooling_cost(s), g, kernels::average_pooling, s, x.read(), y.write());
  };
  instance.check = [=] {
    std::vector<double> expected(y.initial().size());
    each_share(s, [&](std::size_t in, std::size_t out, double share) { expected[out] += share * x.initial()[in]; });
    expect_close(y.now(), expected, 1e-6);
  };
}

void average_gradient(Random& random, KernelInstance& instance) {
  const PoolShape s = any_pool(random);
  const auto dy = instance.input(normal(random, static_cast<std::int64_t>(kernels::pool_outputs(s))));
  const auto dx = instance.output<float>(static_cast<std::int64_t>(kernels::pool_inputs(s)));
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "average_pooling_gradient", kernels::average_pooling_gradient_cost(s), g, kernels::average_pooling_gradient, s,
           dy.read(), dx.write());
  };
  instance.check = [=] {
    std::vector<double> expected(dx.initial().size());
    each_share(s, [&](std::size_t in, std::size_t out, double share) { expected[in] += share * dy.initial()[out]; });
    expect_close(dx.now(), expected, 1e-6);
  };
}

RandomKey any_key(Random& random) {
  return {static_cast<std::uint64_t>(between(random, 0, 1000)), static_cast<std::uint64_t>(between(random, 0, 1000)),
          between(random, 0, 1000), static_cast<std::uint32_t>(between(random, 0, 1000))};
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

std::vector<KernelCase> image_cases() {
  return {{"zero_padding", padding},
          {"zero_padding_gradient", padding_gradient},
          {"global_average_pooling", global_average},
          {"global_average_pooling_gradient", global_average_gradient},
          {"average_pooling", average},
          {"average_pooling_gradient", average_gradient},
          {"random_flip", flip},
          {"sum_of_two", sum_of_two},
          {"clip", clip},
          {"clip_gradient", clip_gradient},
          {"scale_and_shift", scale_and_shift},
          {"dropout", dropout}};
}

}  // namespace lockstep::testing
