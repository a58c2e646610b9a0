// Operations that are thin launches: what they add to the kernels (shapes, scratch, special cases).
#include "engine/ops/activation.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/optimizer_update.h"
#include "engine/ops/pooling.h"
#include "tests/engine/kernels/support/kernel_case.h"
#include "tests/engine/ops/support/op_fixture.h"

namespace lockstep::testing {

namespace {

class Ops : public OpTest {
 protected:
  std::uint64_t checksum_of(const Tensor& x, std::size_t scratch) {
    const Buffer result = gpu().arena().allocate(8, "checksum");
    ops::checksum(scratch > 0 ? context(scratch) : OpContext{&gpu(), &gpu().compute(), {}}, x, result.data<std::uint64_t>());
    std::uint64_t value = 0;
    ops::download(context(), Tensor(result.raw(), Shape{2}), &value);
    gpu().compute().synchronize();
    return value;
  }
};

TEST_F(Ops, KnowKerasActivationsByName) {
  EXPECT_EQ(parse_activation("relu"), ActivationKind::relu);
  EXPECT_EQ(parse_activation(""), ActivationKind::linear);
  EXPECT_EQ(to_string(ActivationKind::softmax), "softmax");
  try {
    parse_activation("relux");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "There is no activation \"relux\"; there are: linear, relu, relu6, sigmoid, softmax, tanh");
  }
}

TEST_F(Ops, ActivationGradientSumsTheBiasOverAllRows) {
  Random random(2);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{3, 5}, {1000, 32}, {70000, 7}}) {
    for (const ActivationKind activation : {ActivationKind::linear, ActivationKind::relu}) {
      auto outputs = normal(random, rows * columns);
      for (float& value : outputs) value = std::max(value, 0.0F);
      auto gradients = normal(random, rows * columns);
      const Tensor y = tensor(Shape{rows, columns}, outputs);
      const Tensor dy = tensor(Shape{rows, columns}, gradients);
      const Tensor dbias = empty(Shape{columns});
      ops::activation_gradient(context(ops::bias_gradient_scratch(rows, columns)), y, activation, dy, dbias);
      std::vector<double> expected(static_cast<std::size_t>(columns));
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (activation == ActivationKind::relu && outputs[i] == 0) gradients[i] = 0;
        expected[i % expected.size()] += gradients[i];
      }
      EXPECT_EQ(read(dy), gradients);
      expect_close(read(dbias), expected, 2e-4);
    }
  }
}

TEST_F(Ops, AnEmptyShardHasZeroBiasGradient) {
  const Tensor dbias = empty(Shape{6});
  const Tensor none(dbias.raw(), Shape{0, 6});
  ops::activation_gradient(context(), none, ActivationKind::relu, none, dbias);
  EXPECT_EQ(read(dbias), std::vector<float>(6, 0));
}

TEST_F(Ops, ALossAndItsMetricsAddUpInSlots) {
  const Tensor logits = tensor(Shape{2, 3}, {0, 0, 0, 1, 5, 1});
  const Tensor label = labels({2, 1});
  const Tensor losses = empty(Shape{2});
  const Tensor gradient = empty(Shape{2, 3});
  const Tensor sums = tensor(Shape{8}, std::vector<float>(8, 0));  // four doubles
  ops::sparse_cross_entropy(context(), logits, label, 0.5F, losses, gradient);
  for (int i = 0; i < 2; ++i) {
    ops::add_to_sum(context(), losses, static_cast<double*>(sums.raw()), 1);
    ops::add_correct(context(), logits, label, Tensor(), static_cast<double*>(sums.raw()), 3);
  }
  const auto d = read(gradient);
  EXPECT_NEAR(d[0], 0.5 / 3, 1e-6);
  EXPECT_NEAR(d[2], 0.5 * (1.0 / 3 - 1), 1e-6);
  double totals[4] = {};
  ops::download(context(), sums, totals);
  gpu().compute().synchronize();
  EXPECT_NEAR(totals[1], 2 * (std::log(3.0) + std::log(1 + 2 * std::exp(-4.0))), 1e-5);
  EXPECT_EQ(totals[3], 2);
  EXPECT_EQ(totals[0], 0);
}

TEST_F(Ops, PoolingOfOddImagesLeavesNoElementUnwritten) {
  ops::PoolingSpec spec;
  spec.batch = 2;
  spec.height = 5;
  spec.width = 7;
  spec.channels = 3;
  spec.kernel_h = spec.kernel_w = spec.stride_h = spec.stride_w = 2;
  Random random(4);
  const Tensor x = tensor(Shape{2, 5, 7, 3}, normal(random, 210));
  const Tensor y = empty(Shape{2, 2, 3, 3});
  ops::max_pooling(context(), spec, x, y);
  const Tensor dx = empty(x.shape());
  ops::max_pooling_gradient(context(), spec, x, y, tensor(y.shape(), std::vector<float>(36, 1)), dx);
  double sum = 0;
  for (const float value : read(dx)) sum += value;
  EXPECT_EQ(sum, 36);
}

TEST_F(Ops, ChecksumSeesEveryBitAndNotTheWayItIsMade) {
  Random random(5);
  auto values = normal(random, 10000);
  const std::uint64_t before = checksum_of(tensor(Shape{10000}, values), 0);
  EXPECT_EQ(checksum_of(tensor(Shape{10000}, values), ops::checksum_scratch()), before);
  for (const std::size_t at : {std::size_t{0}, std::size_t{5000}, std::size_t{9999}}) {
    auto changed = values;
    changed[at] = std::nextafter(changed[at], 100.0F);
    EXPECT_NE(checksum_of(tensor(Shape{10000}, changed), 0), before);
  }
  std::swap(values[1], values[2]);
  EXPECT_NE(checksum_of(tensor(Shape{10000}, values), 0), before);
  EXPECT_NE(checksum_of(tensor(Shape{1}, {0.0F}), 0), checksum_of(tensor(Shape{1}, {-0.0F}), 0));
}

TEST_F(Ops, AdamTakesOneMinusBetaInDouble) {
  const Tensor g = tensor(Shape{1}, {1});
  const Tensor w = tensor(Shape{1}, {0});
  const Tensor m = tensor(Shape{1}, {0});
  const Tensor v = tensor(Shape{1}, {0});
  ops::adam(context(), {.alpha = 1e-3F}, g, Tensor(), w, m, v);
  EXPECT_EQ(read(m)[0], 0.1F);
  EXPECT_EQ(read(v)[0], 0.001F);
}

}  // namespace

}  // namespace lockstep::testing
