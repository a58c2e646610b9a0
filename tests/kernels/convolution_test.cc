// Convolutions, forward and both backwards, against their definition.
#include "support/convolution_check.h"

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
