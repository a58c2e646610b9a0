// Where cuDNN has no plan (the virtual one can be told to refuse) the direct kernels run, and nobody sees the difference.
#include <cstdlib>

#include "tests/engine/ops/support/convolution_check.h"

namespace lockstep::testing {

namespace {

class RefusedConvolutionTest : public ConvolutionTest {
 protected:
  RefusedConvolutionTest() { setenv("LOCKSTEP_SIM_CUDNN_REFUSE", "1", 1); }
  ~RefusedConvolutionTest() override { unsetenv("LOCKSTEP_SIM_CUDNN_REFUSE"); }
};

TEST_F(RefusedConvolutionTest, EqualsItsDefinitionWithoutCudnn) { check_many(40, false); }

}  // namespace

}  // namespace lockstep::testing
