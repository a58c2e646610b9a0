// A cuBLASLt matrix product described in one structure, the descriptors made from it, and a plain loop that computes the same.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/gpu/support/device.h"
#include "tests/simulator/gpu/support/narrow.h"

namespace lockstep::test {

struct MatmulCase {
  std::int64_t m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  cublasLtOrder_t order_a = CUBLASLT_ORDER_COL, order_b = CUBLASLT_ORDER_COL, order_c = CUBLASLT_ORDER_COL, order_d = CUBLASLT_ORDER_COL;
  std::int64_t pad_a = 0, pad_b = 0, pad_c = 0, pad_d = 0;  // leading dimension beyond the least
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float alpha = 1, beta = 0;
  bool in_place = true;  // C is D
  bool device_scalars = false;
  Narrow in_type = Narrow::f32, out_type = Narrow::f32;  // of A and B; of C, D and bias
  std::int64_t batches = 1;
  std::int64_t batch_pad = 0;              // elements between one matrix of a batch and the next
  bool same_a = false, same_bias = false;  // for all of the batch

  std::string text() const;
};

MatmulCase random_matmul(Random& random);
void make_batch(MatmulCase& c, Random& random);

// Rows, columns and leading dimension of a matrix as it is stored.
struct Stored {
  std::int64_t rows, cols, ld;
  cublasLtOrder_t order;

  std::int64_t elements() const { return (order == CUBLASLT_ORDER_COL ? cols : rows) * ld; }
  std::size_t at(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(order == CUBLASLT_ORDER_COL ? col * ld + row : row * ld + col);
  }
};
Stored stored_a(const MatmulCase& c);
Stored stored_b(const MatmulCase& c);
Stored stored_c(const MatmulCase& c);
Stored stored_d(const MatmulCase& c);

// From one matrix of the batch to the next, and all of them together.
struct Batched {
  std::int64_t stride, elements;
};
Batched batched(const MatmulCase& c, const Stored& stored, bool same = false);

class Layout {
 public:
  explicit Layout(const Stored& stored, cudaDataType type = CUDA_R_32F);
  ~Layout() { EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout_), CUBLAS_STATUS_SUCCESS); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, T value) {
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  explicit Description(cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    EXPECT_EQ(cublasLtMatmulDescCreate(&description_, compute, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  }
  ~Description() { EXPECT_EQ(cublasLtMatmulDescDestroy(description_), CUBLAS_STATUS_SUCCESS); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  cublasLtMatmulDesc_t get() const { return description_; }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), CUBLAS_STATUS_SUCCESS);
  }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

class BlasHandle {
 public:
  BlasHandle() { EXPECT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~BlasHandle() { EXPECT_EQ(cublasLtDestroy(handle_), CUBLAS_STATUS_SUCCESS); }
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;
  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

struct MatmulData {
  std::vector<float> a, b, c, d, bias;
};
MatmulData random_data(const MatmulCase& c, Random& random);

// D's whole storage, gaps included, after the library computed the product.
std::vector<float> run_matmul(const BlasHandle& handle, const MatmulCase& c, const MatmulData& data);

// Compares with a plain loop in double precision; gaps between columns must be as they were.
void expect_product(const MatmulCase& c, const MatmulData& data, const std::vector<float>& got);

}  // namespace lockstep::test
