// What tests of kernels from source share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "lockstep/cuda_kernel.h"

namespace lockstep::testing {

// Empty where NVRTC is there; else the reason why these tests are skipped.
inline std::string why_no_nvrtc() {
  try {
    const CudaKernel nothing("__global__ void nothing() {}", "nothing");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class WithNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string kWhyNot = why_no_nvrtc();
    if (!kWhyNot.empty()) GTEST_SKIP() << kWhyNot;
  }
};

template <typename Function>
std::string error_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// EXPECT_TRUE(says(text, part)): prints the text where it does not have the part.
inline ::testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess() << "'" << text << "' has '" << part << "'";
  return ::testing::AssertionFailure() << "'" << text << "' does not have '" << part << "'";
}

}  // namespace lockstep::testing
