// Depthwise convolutions: the reference goes over all pairs of input and output pixels that a tap joins.
#include "engine/kernels/depthwise_kernels.h"

#include <algorithm>

#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

using kernels::DepthwiseShape;

DepthwiseShape any_depthwise(Random& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) { return static_cast<std::int32_t>(between(random, low, high)); };
  DepthwiseShape s{};
  s.batch = pick(1, 3);
  s.channels = pick(1, 45);
  s.multiplier = pick(0, 2) == 0 ? pick(2, 3) : 1;
  s.kernel_h = pick(1, 4), s.kernel_w = pick(1, 4);
  s.stride_h = pick(1, 3), s.stride_w = pick(1, 3);
  s.dilation_h = pick(1, 2), s.dilation_w = pick(1, 2);
  const std::int32_t window_h = s.dilation_h * (s.kernel_h - 1) + 1;
  const std::int32_t window_w = s.dilation_w * (s.kernel_w - 1) + 1;
  s.pad_top = pick(0, window_h - 1), s.pad_left = pick(0, window_w - 1);
  s.height = pick(window_h, 11), s.width = pick(window_w, 11);
  // Every other time a shape for which the kernels have a separate path: rows of several tiles, channels of several widths.
  if (pick(0, 1) == 0) {
    s.multiplier = 1, s.kernel_h = s.kernel_w = 3, s.dilation_h = s.dilation_w = 1;
    s.stride_h = s.stride_w = pick(1, 2);
    s.pad_top = pick(0, 2), s.pad_left = pick(0, 2);
    s.batch = pick(1, 2), s.height = pick(1, 5), s.width = pick(1, 20);
    s.out_height = std::max(0, s.height + s.pad_top + pick(0, 2) - 3) / s.stride_h + 1;
    s.out_width = std::max(0, s.width + s.pad_left + pick(0, 2) - 3) / s.stride_w + 1;
    return s;
  }
  s.out_height = (s.height + s.pad_top + pick(0, window_h - 1) - window_h) / s.stride_h + 1;
  s.out_width = (s.width + s.pad_left + pick(0, window_w - 1) - window_w) / s.stride_w + 1;
  return s;
}

std::string str(const DepthwiseShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) + " x " + std::to_string(s.channels) +
         ", multiplier " + std::to_string(s.multiplier) + ", kernel " + std::to_string(s.kernel_h) + " x " + std::to_string(s.kernel_w);
}

// f(input element, filter element, output element) for every product that is part of the convolution.
template <typename Function>
void each_product(const DepthwiseShape& s, Function f) {
  for (int n = 0; n < s.batch; ++n)
    for (int oy = 0; oy < s.out_height; ++oy)
      for (int ox = 0; ox < s.out_width; ++ox)
        for (int r = 0; r < s.kernel_h; ++r)
          for (int q = 0; q < s.kernel_w; ++q) {
            const int iy = oy * s.stride_h + r * s.dilation_h - s.pad_top;
            const int ix = ox * s.stride_w + q * s.dilation_w - s.pad_left;
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (int c = 0; c < s.channels; ++c)
              for (int m = 0; m < s.multiplier; ++m)
                f(static_cast<std::size_t>(((n * s.height + iy) * s.width + ix) * s.channels + c),
                  static_cast<std::size_t>(((r * s.kernel_w + q) * s.channels + c) * s.multiplier + m),
                  static_cast<std::size_t>((((n * s.out_height + oy) * s.out_width + ox) * s.channels + c) * s.multiplier + m));
          }
}

std::int64_t inputs(const DepthwiseShape& s) { return static_cast<std::int64_t>(kernels::depthwise_inputs(s)); }
std::int64_t outputs(const DepthwiseShape& s) { return static_cast<std::int64_t>(kernels::depthwise_outputs(s)); }
std::int64_t taps(const DepthwiseShape& s) { return static_cast<std::int64_t>(kernels::depthwise_taps(s)); }

void forward(Random& random, KernelInstance& instance) {
  const DepthwiseShape s = any_depthwise(random);
  const auto x = instance.input(normal(random, inputs(s)));
  const auto filter = instance.input(normal(random, taps(s)));
  const auto y = instance.output<float>(outputs(s));
  instance.shape = str(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "depthwise_forward", kernels::depthwise_forward_cost(s), g, kernels::depthwise_forward, s, x.read(), filter.read(),
           y.write());
  };
  instance.check = [=] {
    std::vector<double> expected(y.initial().size());
    each_product(s, [&](std::size_t i, std::size_t t, std::size_t o) { expected[o] += 1.0 * x.initial()[i] * filter.initial()[t]; });
    expect_close_to_scale(y.now(), expected, 1e-6);
  };
}

void backward_data(Random& random, KernelInstance& instance) {
  const DepthwiseShape s = any_depthwise(random);
  const auto dy = instance.input(normal(random, outputs(s)));
  const auto filter = instance.input(normal(random, taps(s)));
  const auto dx = instance.output<float>(inputs(s));
  instance.shape = str(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "depthwise_backward_data", kernels::depthwise_backward_data_cost(s), g, kernels::depthwise_backward_data, s, dy.read(),
           filter.read(), dx.write());
  };
  instance.check = [=] {
    std::vector<double> expected(dx.initial().size());
    each_product(s, [&](std::size_t i, std::size_t t, std::size_t o) { expected[i] += 1.0 * dy.initial()[o] * filter.initial()[t]; });
    expect_close_to_scale(dx.now(), expected, 1e-6);
  };
}

void backward_filter(Random& random, KernelInstance& instance) {
  const DepthwiseShape s = any_depthwise(random);
  const auto x = instance.input(normal(random, inputs(s)));
  const auto dy = instance.input(normal(random, outputs(s)));
  const auto partial = instance.output<float>(kernels::depthwise_chunks(s) * taps(s));
  instance.shape = str(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "depthwise_backward_filter", kernels::depthwise_backward_filter_cost(s), g, kernels::depthwise_backward_filter, s,
           x.read(), dy.read(), partial.write());
  };
  instance.check = [=] {
    std::vector<double> expected(static_cast<std::size_t>(taps(s)));
    each_product(s, [&](std::size_t i, std::size_t t, std::size_t o) { expected[t] += 1.0 * x.initial()[i] * dy.initial()[o]; });
    std::vector<float> sums(expected.size());
    const auto parts = partial.now();
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i % sums.size()] += parts[i];
    expect_close_to_scale(sums, expected, 1e-6);
  };
}

}  // namespace

std::vector<KernelCase> depthwise_cases() {
  return {{"depthwise_forward", forward}, {"depthwise_backward_data", backward_data}, {"depthwise_backward_filter", backward_filter}};
}

}  // namespace lockstep::testing
