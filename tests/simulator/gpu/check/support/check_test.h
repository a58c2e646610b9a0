// Helpers of the tests of check mode: programs with a planted bug, and the same programs corrected.
#pragma once

#include <string>
#include <vector>

#include "simulator/gpu/check/reports.h"
#include "tests/simulator/gpu/runtime/support/gpu_test.h"

namespace lockstep::test {

class CheckTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    sim::clear_check_reports();
  }
  void TearDown() override {
    GpuTest::TearDown();
    sim::clear_check_reports();
  }

  static void wait_for_all() {
    for (int d = 0; d < 4; ++d) {
      cudaSetDevice(d);
      cudaDeviceSynchronize();
    }
    cudaSetDevice(0);
  }

  // One report, and it says all of this.
  static void expect_report(const std::vector<std::string>& words) {
    const std::vector<std::string> reports = sim::check_reports();
    ASSERT_EQ(reports.size(), 1U);
    for (const std::string& word : words)
      EXPECT_NE(reports[0].find(word), std::string::npos) << "\"" << word << "\" is not in\n" << reports[0];
  }
  static void expect_clean() {
    wait_for_all();
    for (const std::string& text : sim::check_reports()) ADD_FAILURE() << text;
    for (int d = 0; d < 4; ++d) {
      cudaSetDevice(d);
      EXPECT_CUDA(cudaGetLastError());
    }
    cudaSetDevice(0);
  }
};

template <typename... Parameters>
void launch_on(cudaStream_t stream, const char* name, void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  auto config = configuration(4, 32, stream);
  annotate_next_launch(name, {});
  cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace lockstep::test
