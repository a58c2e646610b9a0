// The virtual cuBLASLt: preferences of its heuristic, and texts of its statuses.
#include <cstdint>
#include <string>

#include "tests/simulator/gpu/blas/support/matmul.h"

namespace lockstep::test {
namespace {

TEST(MatmulPreference, KeepsAValueAndRefusesOneOfAnotherSize) {
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  const std::uint64_t bytes = 1 << 20;
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, nullptr, 8),
            CUBLAS_STATUS_INVALID_VALUE);
  std::uint64_t read = 0;
  std::size_t written = 0;
  EXPECT_EQ(cublasLtMatmulPreferenceGetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &read, sizeof read, &written),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(written, sizeof read);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulPreference, StatusesHaveTexts) {
  const cublasStatus_t statuses[] = {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_INVALID_VALUE,
                                     CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_EXECUTION_FAILED};
  for (const cublasStatus_t one : statuses) {
    const std::string text = cublasLtGetStatusString(one);
    EXPECT_NE(text, "");
    for (const cublasStatus_t other : statuses) EXPECT_EQ(text == cublasLtGetStatusString(other), one == other) << text;
  }
}

}  // namespace
}  // namespace lockstep::test
