// Where cuDNN has no plan (LOCKSTEP_SIM_CUDNN_REFUSE makes the virtual one refuse) the direct kernels run, with the same results.
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
