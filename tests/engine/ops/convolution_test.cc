// Convolutions, forward and both backwards, against their definition.
#include <tuple>

#include "tests/engine/ops/support/convolution_check.h"

namespace lockstep::testing {

namespace {

TEST_F(ConvolutionTest, EqualsItsDefinition) { check_many(40, true); }

TEST_F(ConvolutionTest, EqualsItsDefinitionOnMnistsFirstLayer) {
  Random random(3);
  ops::ConvolutionSpec spec;
  spec.batch = 5;
  spec.height = spec.width = 28;
  spec.in_channels = 1;
  spec.out_channels = 32;
  spec.kernel_h = spec.kernel_w = 3;
  check(spec, random, true);
}

// Small filters go through cuDNN, larger ones have only their gradient made by a product, and with large ones all three are products.
TEST_F(ConvolutionTest, EqualsItsDefinitionWhereItIsAMatrixProduct) {
  Random random(4);
  ops::ConvolutionSpec spec;
  spec.batch = 2;
  spec.height = 3;
  spec.width = 5;
  for (const auto& [in, out, with_dnn] : {std::tuple{24, 40, true}, std::tuple{80, 72, true}, std::tuple{200, 330, false}}) {
    spec.in_channels = in;
    spec.out_channels = out;
    check(spec, random, with_dnn);
  }
}

TEST_F(ConvolutionTest, RefusesAKernelLargerThanTheImage) {
  ops::ConvolutionSpec spec;
  spec.batch = 1;
  spec.height = 2;
  spec.width = 8;
  spec.in_channels = spec.out_channels = 1;
  spec.kernel_h = spec.kernel_w = 3;
  EXPECT_THROW(ops::Convolution(gpu(), spec, true), Error);
}

TEST_F(ConvolutionTest, AnEmptyBatchHasAZeroFilterGradient) {
  ops::ConvolutionSpec spec;
  spec.height = spec.width = 4;
  spec.in_channels = spec.out_channels = 2;
  spec.kernel_h = spec.kernel_w = 3;
  const ops::Convolution convolution(gpu(), spec, true);
  const Tensor filter = empty(Shape{3, 3, 2, 2});
  const Tensor image(filter.raw(), Shape{0, 4, 4, 2});
  const Tensor output(filter.raw(), Shape{0, 2, 2, 2});
  convolution.forward(context(), image, filter, output);
  convolution.backward_data(context(), output, filter, image);
  convolution.backward_filter(context(), image, output, filter);
  EXPECT_EQ(read(filter), std::vector<float>(36, 0));
}

}  // namespace

}  // namespace lockstep::testing
