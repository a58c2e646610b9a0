// Convolution and pooling as one operation against the two, one after the other.
#include "engine/ops/convolution_pooling.h"

#include "engine/ops/activation.h"
#include "tests/engine/kernels/support/kernel_case.h"
#include "tests/engine/ops/support/op_fixture.h"

namespace lockstep::testing {

namespace {

class ConvolutionPoolingTest : public OpTest {
 protected:
  struct Pair {
    ops::ConvolutionSpec convolution;
    ops::PoolingSpec pooling;
  };

  static Pair any_pair(Random& random) {
    Pair pair;
    ops::ConvolutionSpec& s = pair.convolution;
    s.batch = between(random, 1, 9);
    s.in_channels = between(random, 0, 1) == 0 ? 1 : between(random, 1, 10);
    s.out_channels = 8 * between(random, 1, 8);
    const bool sequences = between(random, 0, 2) == 0;
    s.kernel_h = sequences ? 1 : between(random, 1, 3);
    s.kernel_w = between(random, 1, 5);
    pair.pooling.kernel_h = pair.pooling.stride_h = sequences ? 1 : between(random, 1, 2);
    pair.pooling.kernel_w = pair.pooling.stride_w = 2;
    s.height = sequences ? 1 : s.kernel_h + between(random, 1, 8);
    s.width = s.kernel_w + between(random, 1, 30);
    pair.pooling.batch = s.batch, pair.pooling.channels = s.out_channels;
    pair.pooling.height = s.out_height(), pair.pooling.width = s.out_width();
    return pair;
  }
};

TEST_F(ConvolutionPoolingTest, IsConvolutionBiasReluAndPoolingInOne) {
  Random random(11);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto [s, p] = any_pair(random);
    ASSERT_TRUE(ops::ConvolutionPooling::fits(s, p));
    const ActivationKind activation = round % 4 == 0 ? ActivationKind::linear : ActivationKind::relu;
    const std::int64_t pixels = s.batch * s.out_height() * s.out_width();
    const Tensor x = tensor(Shape{s.batch, s.height, s.width, s.in_channels}, normal(random, s.batch * s.height * s.width * s.in_channels));
    const Tensor filter = tensor(Shape{s.kernel_h, s.kernel_w, s.in_channels, s.out_channels},
                                 normal(random, s.kernel_h * s.kernel_w * s.in_channels * s.out_channels));
    const Tensor bias = tensor(Shape{s.out_channels}, normal(random, s.out_channels));
    const Shape pooled{s.batch, p.out_height(), p.out_width(), s.out_channels};
    const Tensor dy = tensor(pooled, normal(random, pooled.size()));

    const Tensor between = empty(Shape{s.batch, s.out_height(), s.out_width(), s.out_channels}), y = empty(pooled);
    const Tensor dbetween = empty(between.shape()), dx = empty(x.shape()), dfilter = empty(filter.shape()), dbias = empty(bias.shape());
    const ops::Convolution convolution(gpu(), s, true);
    const OpContext apart = context(std::max(convolution.scratch_bytes(), ops::bias_gradient_scratch(pixels, s.out_channels)));
    convolution.forward(apart, x, filter, between);
    ops::bias_activation(apart, bias, activation, between);
    ops::max_pooling(apart, p, between, y);
    ops::max_pooling_gradient(apart, p, between, y, dy, dbetween);
    ops::activation_gradient(apart, between, activation, dbetween, dbias);
    convolution.backward_filter(apart, x, dbetween, dfilter);
    convolution.backward_data(apart, dbetween, filter, dx);
    const auto wide = [](const std::vector<float>& values) { return std::vector<double>(values.begin(), values.end()); };
    const auto y1 = wide(read(y)), dx1 = wide(read(dx)), dfilter1 = wide(read(dfilter)), dbias1 = wide(read(dbias));

    const ops::ConvolutionPooling both(gpu(), s, p, activation == ActivationKind::relu, true);
    const Tensor saved = empty(Shape{static_cast<std::int64_t>(both.saved_bytes() / sizeof(float) + 1)});
    const OpContext at_once = context(both.scratch_bytes());
    both.forward(at_once, x, filter, bias, y, saved);
    both.backward_filter(at_once, x, dy, saved, dfilter, dbias);
    both.backward_data(at_once, dy, saved, filter, dx);
    expect_close_to_scale(read(y), y1, 3e-6);
    expect_close_to_scale(read(dfilter), dfilter1, 3e-6);
    expect_close_to_scale(read(dbias), dbias1, 3e-6);
    expect_close_to_scale(read(dx), dx1, 3e-6);
    both.forward(at_once, x, filter, bias, y, Tensor());  // no backward follows
    expect_close_to_scale(read(y), y1, 3e-6);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST_F(ConvolutionPoolingTest, TakesOnlyWhatItCanDo) {
  ops::ConvolutionSpec s;
  s.batch = 2, s.height = s.width = 28, s.in_channels = 1, s.out_channels = 32, s.kernel_h = s.kernel_w = 3;
  ops::PoolingSpec p;
  p.batch = 2, p.height = p.width = 26, p.channels = 32, p.kernel_h = p.kernel_w = p.stride_h = p.stride_w = 2;
  EXPECT_TRUE(ops::ConvolutionPooling::fits(s, p));
  const auto refused = [&](const char* what, auto change) {
    ops::ConvolutionSpec other_s = s;
    ops::PoolingSpec other_p = p;
    change(other_s, other_p);
    EXPECT_FALSE(ops::ConvolutionPooling::fits(other_s, other_p)) << what;
  };
  refused("channels", [](auto& c, auto&) { c.out_channels = 30; });
  refused("stride", [](auto& c, auto&) { c.stride_w = 2; });
  refused("dilation", [](auto& c, auto&) { c.dilation_h = 2; });
  refused("padding", [](auto& c, auto&) { c.pad_left = 1; });
  refused("a large filter", [](auto& c, auto&) { c.in_channels = 64; });
  refused("a pool of 3", [](auto&, auto& q) { q.kernel_w = 3; });
  refused("pools that overlap", [](auto&, auto& q) { q.stride_h = 1; });
  refused("a padded pool", [](auto&, auto& q) { q.pad_bottom = 1; });
}

}  // namespace

}  // namespace lockstep::testing
