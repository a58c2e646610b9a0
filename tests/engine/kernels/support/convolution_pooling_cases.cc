// Convolution, bias, ReLU and max pooling as one.
#include "engine/kernels/convolution_pooling_kernels.h"
#include "engine/kernels/sequence_convolution_kernels.h"
#include "tests/engine/kernels/support/convolution_reference.h"
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

namespace {

constexpr int kNone = 255;

kernels::ConvolutionPoolingShape any_shape(Random& random, bool empty_batch) {
  const auto draw = [&](int low, int high) { return static_cast<std::int32_t>(between(random, low, high)); };
  kernels::ConvolutionPoolingShape s{};
  const bool small = draw(0, 2) == 0;  // the shape that has a way of its own
  s.batch = draw(empty_batch ? 0 : 1, 9);
  s.in_channels = small ? 1 : draw(1, 9);
  s.out_channels = 8 * (draw(0, 2) == 0 ? 4 : draw(1, 3));
  s.kernel_h = small ? 3 : draw(1, 3);
  s.kernel_w = small ? 3 : draw(1, 5);
  s.pool_h = draw(1, 2);
  s.height = draw(s.kernel_h + s.pool_h - 1, s.kernel_h + 5);
  s.width = draw(s.kernel_w + 1, s.kernel_w + 23);
  s.out_height = (s.height - s.kernel_h + 1) / s.pool_h;
  s.out_width = (s.width - s.kernel_w + 1) / 2;
  return s;
}

std::string told(const kernels::ConvolutionPoolingShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.height) + " x " + std::to_string(s.width) + " x " +
         std::to_string(s.in_channels) + ", filter " + std::to_string(s.kernel_h) + " x " + std::to_string(s.kernel_w) + " x " +
         std::to_string(s.out_channels) + ", pool " + std::to_string(s.pool_h) + " x 2";
}

kernels::ConvShape convolution_of(const kernels::ConvolutionPoolingShape& s) {
  return {s.batch,
          s.height,
          s.width,
          s.in_channels,
          s.out_channels,
          s.height - s.kernel_h + 1,
          s.width - s.kernel_w + 1,
          s.kernel_h,
          s.kernel_w,
          1,
          1,
          1,
          1,
          0,
          0};
}

// Index in the convolution's output of pixel p of the window that makes output i.
std::size_t pixel_of(const kernels::ConvolutionPoolingShape& s, std::int64_t i, int p) {
  const kernels::ConvShape c = convolution_of(s);
  const std::int64_t k = i % s.out_channels, ox = i / s.out_channels % s.out_width, oy = i / s.out_channels / s.out_width % s.out_height;
  const std::int64_t n = i / s.out_channels / s.out_width / s.out_height;
  const std::int64_t y = oy * s.pool_h + p / 2, x = ox * 2 + p % 2;
  return static_cast<std::size_t>(((n * c.out_height + y) * c.out_width + x) * s.out_channels + k);
}

void make_forward(Random& random, KernelInstance& instance) {
  const kernels::ConvolutionPoolingShape s = any_shape(random, false);
  const kernels::ConvShape c = convolution_of(s);
  const bool relu = between(random, 0, 2) != 0, biased = between(random, 0, 2) != 0, watched = between(random, 0, 2) != 0;
  const std::int64_t outputs = kernels::convolution_pooling_outputs(s);
  const auto x = instance.input(normal(random, static_cast<std::int64_t>(image_size(c))));
  const auto filter = instance.input(normal(random, static_cast<std::int64_t>(filter_size(c))));
  const auto bias = instance.input(normal(random, biased ? s.out_channels : 0));
  const auto y = instance.output<float>(outputs);
  const auto winners = instance.output<std::uint8_t>(watched ? outputs : 0);
  instance.shape = told(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "convolution_pooling", kernels::convolution_pooling_cost(s), g, kernels::convolution_pooling, s, relu, x.read(),
           filter.read(), bias.read(), y.write(), winners.write());
  };
  instance.check = [=] {
    std::vector<double> sums = reference_forward(c, x.initial(), filter.initial());
    double scale = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (biased) sums[i] += bias.initial()[i % static_cast<std::size_t>(s.out_channels)];
      scale = std::max(scale, std::abs(sums[i]));
    }
    const auto who = winners.now();
    std::vector<double> expected;
    for (std::int64_t i = 0; i < outputs; ++i) {
      double best = -std::numeric_limits<double>::infinity();
      for (int p = 0; p < 2 * s.pool_h; ++p) best = std::max(best, sums[pixel_of(s, i, p)]);
      expected.push_back(relu ? std::max(0.0, best) : best);
      if (!watched) continue;
      const int p = who[static_cast<std::size_t>(i)];
      if (p == kNone) {
        ASSERT_TRUE(relu && best < 1e-5 * scale) << "output " << i;
      } else {
        ASSERT_LT(p, 2 * s.pool_h) << "output " << i;
        ASSERT_NEAR(sums[pixel_of(s, i, p)], best, 1e-5 * scale) << "output " << i;
        ASSERT_TRUE(!relu || best > -1e-5 * scale) << "output " << i;
      }
    }
    expect_close_to_scale(y.now(), expected, 3e-6);
  };
}

std::vector<std::uint8_t> any_winners(Random& random, const kernels::ConvolutionPoolingShape& s) {
  std::vector<std::uint8_t> winners(static_cast<std::size_t>(kernels::convolution_pooling_outputs(s)));
  for (auto& winner : winners)
    winner = static_cast<std::uint8_t>(between(random, 0, 3) == 0 ? kNone : between(random, 0, 2 * s.pool_h - 1));
  return winners;
}

// What the convolution's output gets of the pooled gradient.
std::vector<float> unpooled(const kernels::ConvolutionPoolingShape& s, const std::vector<float>& dy,
                            const std::vector<std::uint8_t>& winners) {
  std::vector<float> gradient(output_size(convolution_of(s)));
  for (std::size_t i = 0; i < dy.size(); ++i)
    if (winners[i] != kNone) gradient[pixel_of(s, static_cast<std::int64_t>(i), winners[i])] = dy[i];
  return gradient;
}

void make_gradient(Random& random, KernelInstance& instance) {
  const kernels::ConvolutionPoolingShape s = any_shape(random, true);
  const kernels::ConvShape c = convolution_of(s);
  const std::int64_t chunks = kernels::convolution_pooling_chunks(s);
  const auto x = instance.input(normal(random, static_cast<std::int64_t>(image_size(c))));
  const auto dy = instance.input(normal(random, kernels::convolution_pooling_outputs(s)));
  const auto winners = instance.input(any_winners(random, s));
  const auto filters = instance.output<float>(chunks * static_cast<std::int64_t>(filter_size(c)));
  const auto biases = instance.output<float>(chunks * s.out_channels);
  instance.shape = told(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "convolution_pooling_gradient", kernels::convolution_pooling_gradient_cost(s), g, kernels::convolution_pooling_gradient,
           s, x.read(), dy.read(), winners.read(), filters.write(), biases.write());
  };
  instance.check = [=] {
    const std::vector<float> gradient = unpooled(s, dy.initial(), winners.initial());
    std::vector<double> bias(static_cast<std::size_t>(s.out_channels));
    for (std::size_t i = 0; i < gradient.size(); ++i) bias[i % bias.size()] += gradient[i];
    const auto joined = [&](const std::vector<float>& sums) {
      std::vector<float> all(sums.size() / static_cast<std::size_t>(chunks));
      for (std::size_t i = 0; i < sums.size(); ++i) all[i % all.size()] += sums[i];
      return all;
    };
    expect_close_to_scale(joined(filters.now()), reference_backward_filter(c, x.initial(), gradient), 3e-6);
    expect_close_to_scale(joined(biases.now()), bias, 3e-6);
  };
}

void make_unpool(Random& random, KernelInstance& instance) {
  const kernels::ConvolutionPoolingShape s = any_shape(random, true);
  const auto margin = static_cast<std::int32_t>(between(random, 0, 3));
  const kernels::ConvShape c = convolution_of(s);
  const std::int64_t rows = std::int64_t{s.batch} * c.out_height, width = c.out_width + 2 * margin;
  const auto dy = instance.input(normal(random, kernels::convolution_pooling_outputs(s)));
  const auto winners = instance.input(any_winners(random, s));
  const auto gradient = instance.output<float>(rows * width * s.out_channels);
  instance.shape = told(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "unpool", kernels::unpool_cost(s, margin), g, kernels::unpool, s, margin, dy.read(), winners.read(), gradient.write());
  };
  instance.check = [=] {
    const std::vector<float> inner = unpooled(s, dy.initial(), winners.initial());
    std::vector<float> expected(gradient.initial().size());
    for (std::size_t i = 0; i < inner.size(); ++i) {
      const std::size_t run = static_cast<std::size_t>(c.out_width) * static_cast<std::size_t>(s.out_channels);
      const std::size_t wide = static_cast<std::size_t>(width * s.out_channels);
      expected[i / run * wide + static_cast<std::size_t>(margin) * static_cast<std::size_t>(s.out_channels) + i % run] = inner[i];
    }
    EXPECT_EQ(gradient.now(), expected);
  };
}

kernels::SequenceShape any_sequences(Random& random) {
  const auto draw = [&](int low, int high) { return static_cast<std::int32_t>(between(random, low, high)); };
  const std::int32_t taps = draw(1, 5);
  return {draw(1, 5), draw(taps, taps + 40), draw(0, 2) == 0 ? 64 : draw(1, 20), draw(1, 40), taps};
}

std::string told(const kernels::SequenceShape& s) {
  return std::to_string(s.batch) + " x " + std::to_string(s.steps) + " x " + std::to_string(s.channels) + ", " + std::to_string(s.taps) +
         " taps of " + std::to_string(s.filters);
}

std::vector<float> turned(const kernels::SequenceShape& s, const std::vector<float>& filter) {
  std::vector<float> all(static_cast<std::size_t>(s.taps * s.filters * s.padded_channels()));
  for (int q = 0; q < s.taps; ++q)
    for (int c = 0; c < s.channels; ++c)
      for (int k = 0; k < s.filters; ++k)
        all[static_cast<std::size_t>((q * s.filters + k) * s.padded_channels() + c)] =
            filter[static_cast<std::size_t>((q * s.channels + c) * s.filters + k)];
  return all;
}

void make_turn(Random& random, KernelInstance& instance) {
  const kernels::SequenceShape s = any_sequences(random);
  const auto filter = instance.input(normal(random, std::int64_t{s.taps} * s.channels * s.filters));
  const auto out = instance.output<float>(std::int64_t{s.taps} * s.filters * s.padded_channels());
  instance.shape = told(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "turn_filter", kernels::turn_filter_cost(s), g, kernels::turn_filter, s, filter.read(), out.write());
  };
  instance.check = [=] { EXPECT_EQ(out.now(), turned(s, filter.initial())); };
}

void make_sequence_gradient(Random& random, KernelInstance& instance) {
  const kernels::SequenceShape s = any_sequences(random);
  const kernels::ConvShape c{s.batch, 1, s.steps, s.channels, s.filters, 1, s.steps - s.taps + 1, 1, s.taps, 1, 1, 1, 1, 0, 0};
  const std::vector<float> inner = normal(random, static_cast<std::int64_t>(output_size(c)));
  const std::vector<float> filter = normal(random, static_cast<std::int64_t>(filter_size(c)));
  std::vector<float> padded(static_cast<std::size_t>(s.batch * s.padded_steps() * s.filters));
  const auto run = static_cast<std::size_t>(c.out_width * s.filters), wide = static_cast<std::size_t>(s.padded_steps() * s.filters);
  for (std::size_t i = 0; i < inner.size(); ++i)
    padded[i / run * wide + static_cast<std::size_t>((s.taps - 1) * s.filters) + i % run] = inner[i];
  const auto dy = instance.input(padded);
  const auto weights = instance.input(turned(s, filter));
  const auto dx = instance.output<float>(static_cast<std::int64_t>(image_size(c)));
  instance.shape = told(s);
  instance.start = [=](const Stream& stream, Grid g) {
    launch(stream, "sequence_input_gradient", kernels::sequence_input_gradient_cost(s), g, kernels::sequence_input_gradient, s, dy.read(),
           weights.read(), dx.write());
  };
  instance.check = [=] { expect_close_to_scale(dx.now(), reference_backward_data(c, inner, filter), 3e-6); };
}

}  // namespace

std::vector<KernelCase> convolution_pooling_cases() {
  return {{"convolution_pooling", make_forward},
          {"convolution_pooling_gradient", make_gradient},
          {"unpool", make_unpool},
          {"turn_filter", make_turn},
          {"sequence_input_gradient", make_sequence_gradient}};
}

}  // namespace lockstep::testing
