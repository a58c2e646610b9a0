// The whole table.
#include "tests/engine/kernels/support/kernel_case.h"

namespace lockstep::testing {

const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> all = [] {
    std::vector<KernelCase> cases;
    for (auto part : {elementwise_cases(), activation_cases(), loss_cases(), optimizer_cases(), pooling_cases(), convolution_cases(),
                      convolution_pooling_cases(), sequence_cases(), dense_loss_cases(), depthwise_cases(), batch_norm_cases(),
                      image_cases(), pointwise_cases()}) {
      cases.insert(cases.end(), part.begin(), part.end());
    }
    return cases;
  }();
  return all;
}

}  // namespace lockstep::testing
