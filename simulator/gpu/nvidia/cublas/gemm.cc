// cuBLAS: handles and the products of matrices (gemm) that cuBLASLt computes in single precision. Everything is column-major.
#include <cublasLt.h>

#include <cstdint>
#include <memory>

#include <cuda_runtime.h>

// The name is NVIDIA's; programs have pointers to it.
struct cublasContext {
  cublasLtHandle_t lt = nullptr;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  int math_mode = 0;
  int atomics_mode = 0;
};
using Handle = cublasContext*;

namespace {

struct Matrix {
  const void* data;
  cudaDataType type;
  int ld;
  long long stride;
};

struct Shape {
  cublasOperation_t left, right;
  int rows, columns, depth;
  int batches = 1;
};

// A layout of cuBLASLt for as long as a call takes.
class Layout {
 public:
  Layout(const Matrix& matrix, int rows, int columns, int batches) {
    status_ =
        cublasLtMatrixLayoutCreate(&layout_, matrix.type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), matrix.ld);
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof(batches));
    const std::int64_t stride = matrix.stride;
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
  }
  ~Layout() {
    if (layout_ != nullptr) cublasLtMatrixLayoutDestroy(layout_);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }
  cublasStatus_t status() const { return status_; }

 private:
  void set(cublasLtMatrixLayoutAttribute_t attribute, const void* value, std::size_t bytes) {
    if (status_ == CUBLAS_STATUS_SUCCESS) status_ = cublasLtMatrixLayoutSetAttribute(layout_, attribute, value, bytes);
  }

  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

cublasStatus_t multiply(Handle handle, const Shape& shape, cublasComputeType_t compute, const void* alpha, const Matrix& a, const Matrix& b,
                        const void* beta, const Matrix& c) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (shape.rows < 0 || shape.columns < 0 || shape.depth < 0 || shape.batches < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (shape.rows == 0 || shape.columns == 0 || shape.batches == 0) return CUBLAS_STATUS_SUCCESS;
  const bool plain_left = shape.left == CUBLAS_OP_N, plain_right = shape.right == CUBLAS_OP_N;
  const Layout left(a, plain_left ? shape.rows : shape.depth, plain_left ? shape.depth : shape.rows, shape.batches);
  const Layout right(b, plain_right ? shape.depth : shape.columns, plain_right ? shape.columns : shape.depth, shape.batches);
  const Layout out(c, shape.rows, shape.columns, shape.batches);
  for (const Layout* const layout : {&left, &right, &out}) {
    if (layout->status() != CUBLAS_STATUS_SUCCESS) return layout->status();
  }
  cublasLtMatmulDesc_t made = nullptr;
  if (const cublasStatus_t status = cublasLtMatmulDescCreate(&made, compute, CUDA_R_32F)) return status;
  const std::unique_ptr<cublasLtMatmulDescOpaque_t, decltype(&cublasLtMatmulDescDestroy)> product(made, &cublasLtMatmulDescDestroy);
  const std::int32_t transposed_left = shape.left, transposed_right = shape.right, mode = handle->pointer_mode;
  cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &transposed_left, sizeof(transposed_left));
  cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSB, &transposed_right, sizeof(transposed_right));
  cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof(mode));
  return cublasLtMatmul(handle->lt, made, alpha, a.data, left.get(), b.data, right.get(), beta, c.data, out.get(),
                        const_cast<void*>(c.data), out.get(), nullptr, nullptr, 0, handle->stream);
}

// Calls that read or set one field.
template <typename Use>
cublasStatus_t with(Handle handle, const Use& use) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  use();
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(Handle* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto made = std::make_unique<cublasContext>();
  if (const cublasStatus_t status = cublasLtCreate(&made->lt)) return status;
  *handle = made.release();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(Handle handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::unique_ptr<cublasContext> mine(handle);
  return cublasLtDestroy(mine->lt);
}
cublasStatus_t cublasSetStream_v2(Handle handle, cudaStream_t stream) {
  return with(handle, [&] { handle->stream = stream; });
}
cublasStatus_t cublasGetStream_v2(Handle handle, cudaStream_t* stream) {
  return with(handle, [&] { *stream = handle->stream; });
}
cublasStatus_t cublasSetPointerMode_v2(Handle handle, cublasPointerMode_t mode) {
  return with(handle, [&] { handle->pointer_mode = mode; });
}
cublasStatus_t cublasGetPointerMode_v2(Handle handle, cublasPointerMode_t* mode) {
  return with(handle, [&] { *mode = handle->pointer_mode; });
}
// Modes that allow less exact sums change nothing: sums are in single precision.
cublasStatus_t cublasSetMathMode(Handle handle, int mode) {
  return with(handle, [&] { handle->math_mode = mode; });
}
cublasStatus_t cublasGetMathMode(Handle handle, int* mode) {
  return with(handle, [&] { *mode = handle->math_mode; });
}
cublasStatus_t cublasSetAtomicsMode(Handle handle, int mode) {
  return with(handle, [&] { handle->atomics_mode = mode; });
}
cublasStatus_t cublasGetAtomicsMode(Handle handle, int* mode) {
  return with(handle, [&] { *mode = handle->atomics_mode; });
}
cublasStatus_t cublasSetWorkspace_v2(Handle handle, void*, size_t) {
  return with(handle, [] {});  // none is used
}
cublasStatus_t cublasGetVersion_v2(Handle, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = static_cast<int>(cublasLtGetVersion());
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasGetCudartVersion() { return cublasLtGetCudartVersion(); }
const char* cublasGetStatusName(cublasStatus_t status) { return cublasLtGetStatusName(status); }
const char* cublasGetStatusString(cublasStatus_t status) { return cublasLtGetStatusString(status); }

cublasStatus_t cublasSgemm_v2(Handle handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const float* alpha,
                              const float* A, int lda, const float* B, int ldb, const float* beta, float* C, int ldc) {
  return multiply(handle, {transa, transb, m, n, k}, CUBLAS_COMPUTE_32F, alpha, {A, CUDA_R_32F, lda, 0}, {B, CUDA_R_32F, ldb, 0}, beta,
                  {C, CUDA_R_32F, ldc, 0});
}
cublasStatus_t cublasSgemmStridedBatched(Handle handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                                         const float* alpha, const float* A, int lda, long long strideA, const float* B, int ldb,
                                         long long strideB, const float* beta, float* C, int ldc, long long strideC, int batchCount) {
  return multiply(handle, {transa, transb, m, n, k, batchCount}, CUBLAS_COMPUTE_32F, alpha, {A, CUDA_R_32F, lda, strideA},
                  {B, CUDA_R_32F, ldb, strideB}, beta, {C, CUDA_R_32F, ldc, strideC});
}
cublasStatus_t cublasGemmEx(Handle handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType Atype, int lda, const void* B, cudaDataType Btype, int ldb, const void* beta,
                            void* C, cudaDataType Ctype, int ldc, cublasComputeType_t computeType, int) {
  return multiply(handle, {transa, transb, m, n, k}, computeType, alpha, {A, Atype, lda, 0}, {B, Btype, ldb, 0}, beta, {C, Ctype, ldc, 0});
}
cublasStatus_t cublasGemmStridedBatchedEx(Handle handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype, int lda, long long strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long strideB, const void* beta, void* C, cudaDataType Ctype,
                                          int ldc, long long strideC, int batchCount, cublasComputeType_t computeType, int) {
  return multiply(handle, {transa, transb, m, n, k, batchCount}, computeType, alpha, {A, Atype, lda, strideA}, {B, Btype, ldb, strideB},
                  beta, {C, Ctype, ldc, strideC});
}
}
