// What the virtual cuBLASLt refuses, and with which status.
#include <cstdint>

#include "tests/simulator/gpu/blas/support/matmul.h"

namespace lockstep::test {
namespace {

// A product that works; each test breaks one thing.
struct Working {
  BlasHandle handle;
  Stream stream;
  Description description;
  Layout a{Stored{4, 6, 4, CUBLASLT_ORDER_COL}}, b{Stored{6, 5, 6, CUBLASLT_ORDER_COL}}, c{Stored{4, 5, 4, CUBLASLT_ORDER_COL}},
      d{Stored{4, 5, 4, CUBLASLT_ORDER_COL}};
  DeviceArray a_data{std::size_t{64}}, b_data{std::size_t{64}}, d_data{std::size_t{64}};
  float alpha = 1, beta = 0;

  cublasStatus_t heuristic() {
    cublasLtMatmulPreference_t preference = nullptr;
    EXPECT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulHeuristicResult_t result{};
    int found = -1;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle.get(), description.get(), a.get(), b.get(), c.get(), d.get(), preference, 1, &result, &found);
    EXPECT_EQ(found, status == CUBLAS_STATUS_SUCCESS ? 1 : 0);
    EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
    return status;
  }
  cublasStatus_t product() {
    const cublasStatus_t status = cublasLtMatmul(handle.get(), description.get(), &alpha, a_data.data(), a.get(), b_data.data(), b.get(),
                                                 &beta, d_data.data(), c.get(), d_data.data(), d.get(), nullptr, nullptr, 0, stream.get());
    stream.wait();
    return status;
  }
  // Heuristic and product agree.
  void expect(cublasStatus_t status) {
    EXPECT_EQ(heuristic(), status);
    EXPECT_EQ(product(), status);
  }
};

TEST(MatmulRefusals, NothingIsRefusedOfAWorkingProduct) { Working().expect(CUBLAS_STATUS_SUCCESS); }

TEST(MatmulRefusals, DimensionsThatDoNotFitAreInvalid) {
  for (const int which : {0, 1, 2, 3}) {
    Working w;
    (which == 0 ? w.a : which == 1 ? w.b : which == 2 ? w.c : w.d).set(CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{7});
    w.expect(CUBLAS_STATUS_INVALID_VALUE);
  }
  Working w;
  w.description.set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
  w.expect(CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, ALeadingDimensionBelowTheRowsIsInvalid) {
  for (const std::int64_t ld : {3, 0, -4}) {
    Working w;
    w.a.set(CUBLASLT_MATRIX_LAYOUT_LD, ld);
    w.expect(CUBLAS_STATUS_INVALID_VALUE);
  }
  Working by_row;  // row order: the leading dimension is at least the columns
  by_row.d.set(CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
  by_row.expect(CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, EmptyMatricesAreInvalid) {
  Working w;
  w.a.set(CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{0});
  w.b.set(CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{0});
  w.expect(CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, WhatHasNoKernelIsNotSupported) {
  {
    Working w;
    w.b.set(CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_COL32});
    w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  for (const std::uint32_t epilogue :
       {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_BGRADB}) {
    Working w;
    w.description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  {
    Working w;
    w.description.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, std::int32_t{CUBLAS_COMPUTE_64F});
    w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  {
    Working w;
    w.description.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE_VECTOR});
    w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
  }
}

// The combinations of cuBLASLt's table for sums in single precision.
TEST(MatmulRefusals, OnlyTypesThatGoTogetherAreSupported) {
  constexpr std::uint32_t kTypes[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_64F, CUDA_R_8I};
  int supported = 0;
  for (const std::uint32_t a : kTypes) {
    for (const std::uint32_t b : kTypes) {
      for (const std::uint32_t c : kTypes) {
        for (const std::uint32_t d : kTypes) {
          Working w;
          w.a.set(CUBLASLT_MATRIX_LAYOUT_TYPE, a);
          w.b.set(CUBLASLT_MATRIX_LAYOUT_TYPE, b);
          w.c.set(CUBLASLT_MATRIX_LAYOUT_TYPE, c);
          w.d.set(CUBLASLT_MATRIX_LAYOUT_TYPE, d);
          const bool real = a == CUDA_R_32F || a == CUDA_R_16F || a == CUDA_R_16BF;
          const bool fits = real && a == b && c == d && (d == a || d == CUDA_R_32F);
          w.expect(fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED);
          supported += fits ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(supported, 5);
}

TEST(MatmulRefusals, FastComputationIsForSinglePrecisionOnlyAndABiasIsOfTheResultsType) {
  for (const std::int32_t compute : {CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32}) {
    Working w;
    w.description.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute);
    w.expect(CUBLAS_STATUS_SUCCESS);
    for (Layout* layout : {&w.a, &w.b, &w.c, &w.d}) layout->set(CUBLASLT_MATRIX_LAYOUT_TYPE, std::uint32_t{CUDA_R_16F});
    w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  Working w;
  w.description.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, std::int32_t{CUDA_R_16F});
  w.expect(CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST(MatmulRefusals, BatchesOfDifferentSizesAreInvalid) {
  Working w;
  w.a.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
  w.expect(CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, MissingArgumentsAreInvalidAndAMissingHandleIsNotInitialized) {
  Working w;
  const auto call = [&](cublasLtHandle_t handle, const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout, void* d) {
    return cublasLtMatmul(handle, w.description.get(), alpha, a, a_layout, w.b_data.data(), w.b.get(), &w.beta, d, w.c.get(), d, w.d.get(),
                          nullptr, nullptr, 0, w.stream.get());
  };
  EXPECT_EQ(call(nullptr, &w.alpha, w.a_data.data(), w.a.get(), w.d_data.data()), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(call(w.handle.get(), nullptr, w.a_data.data(), w.a.get(), w.d_data.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(w.handle.get(), &w.alpha, nullptr, w.a.get(), w.d_data.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(w.handle.get(), &w.alpha, w.a_data.data(), nullptr, w.d_data.data()), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(w.handle.get(), &w.alpha, w.a_data.data(), w.a.get(), nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtDestroy(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  w.stream.wait();
}

TEST(MatmulRefusals, ABiasEpilogueNeedsItsVectorAndBetaNeedsItsMatrix) {
  Working bias;
  bias.description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BIAS});
  EXPECT_EQ(bias.heuristic(), CUBLAS_STATUS_SUCCESS);  // the vector may come later
  EXPECT_EQ(bias.product(), CUBLAS_STATUS_INVALID_VALUE);
  Working w;
  w.beta = 1;
  EXPECT_EQ(cublasLtMatmul(w.handle.get(), w.description.get(), &w.alpha, w.a_data.data(), w.a.get(), w.b_data.data(), w.b.get(), &w.beta,
                           nullptr, w.c.get(), w.d_data.data(), w.d.get(), nullptr, nullptr, 0, w.stream.get()),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, AnAlgorithmMustComeFromTheHeuristicAndAWorkspaceMustBeAligned) {
  Working w;
  const cublasLtMatmulAlgo_t garbage{{1, 2, 3, 4, 5, 6, 7, 8}};
  const auto call = [&](const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t bytes) {
    return cublasLtMatmul(w.handle.get(), w.description.get(), &w.alpha, w.a_data.data(), w.a.get(), w.b_data.data(), w.b.get(), &w.beta,
                          w.d_data.data(), w.c.get(), w.d_data.data(), w.d.get(), algorithm, workspace, bytes, w.stream.get());
  };
  EXPECT_EQ(call(&garbage, nullptr, 0), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(nullptr, nullptr, 256), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(call(nullptr, w.a_data.data() + 1, 16), CUBLAS_STATUS_INVALID_VALUE);
  w.stream.wait();
}

TEST(MatmulRefusals, AStreamOfNoDeviceFailsToExecute) {
  Working w;
  int nothing = 0;
  EXPECT_EQ(
      cublasLtMatmul(w.handle.get(), w.description.get(), &w.alpha, w.a_data.data(), w.a.get(), w.b_data.data(), w.b.get(), &w.beta,
                     w.d_data.data(), w.c.get(), w.d_data.data(), w.d.get(), nullptr, nullptr, 0, reinterpret_cast<cudaStream_t>(&nothing)),
      CUBLAS_STATUS_EXECUTION_FAILED);
}

// As NVIDIA's library answered for the same calls.
TEST(MatmulRefusals, AttributesAreCheckedBySizeAlone) {
  const Description description;
  std::uint64_t value = 5;
  std::size_t written = 0;
  const auto set = [&](const void* from, std::size_t bytes) {
    return cublasLtMatmulDescSetAttribute(description.get(), CUBLASLT_MATMUL_DESC_TRANSA, from, bytes);
  };
  const auto get = [&](void* to, std::size_t bytes, std::size_t* size) {
    return cublasLtMatmulDescGetAttribute(description.get(), CUBLASLT_MATMUL_DESC_TRANSA, to, bytes, size);
  };
  EXPECT_EQ(set(&value, 4), CUBLAS_STATUS_SUCCESS);  // any number
  EXPECT_EQ(set(&value, 8), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(&value, 2), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(set(nullptr, 4), CUBLAS_STATUS_INVALID_VALUE);
  std::int32_t read = 0;
  EXPECT_EQ(get(&read, 4, &written), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(read, 5);
  EXPECT_EQ(written, 4U);
  written = 0;
  EXPECT_EQ(get(nullptr, 0, &written), CUBLAS_STATUS_SUCCESS);  // how many bytes?
  EXPECT_EQ(written, 4U);
  EXPECT_EQ(get(&read, 0, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(get(&value, 8, &written), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(get(&read, 4, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(description.get(), static_cast<cublasLtMatmulDescAttributes_t>(1000), &value, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescDestroy(nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
}

TEST(MatmulRefusals, StatusesHaveNames) {
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasLtGetStatusName(static_cast<cublasStatus_t>(2)), "unrecognized status");
  EXPECT_GE(cublasLtGetVersion(), 120400U);
}

}  // namespace
}  // namespace lockstep::test
