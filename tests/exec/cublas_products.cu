// link: -lcublas
// mistake: {line}: CUBLAS_STATUS_INVALID_VALUE
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "tests/exec/check.h"

#define CUBLAS(call)                                                        \
  do {                                                                      \
    const cublasStatus_t status_ = (call);                                  \
    if (status_ != CUBLAS_STATUS_SUCCESS) {                                 \
      std::printf("line %d: %s\n", __LINE__, cublasGetStatusName(status_)); \
      std::exit(1);                                                         \
    }                                                                       \
  } while (0)

// Column-major: C(m, n) = A(m, k) B(k, n), where B is stored transposed.
int main(int argc, char** argv) {
  const int m = 24, n = 10, k = 17, batches = 3;
  std::vector<float> a(m * k * batches), b(n * k * batches);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 9) - 4;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  std::vector<__half> half_a(m * k), half_b(n * k);
  for (int i = 0; i < m * k; ++i) half_a[i] = __float2half(a[i]);
  for (int i = 0; i < n * k; ++i) half_b[i] = __float2half(b[i]);
  float *da = on_device(a), *db = on_device(b), *one = on_device(std::vector<float>(m * n, 1.0f));
  float *all = on_device(std::vector<float>(m * n * batches)), *from_half = on_device(std::vector<float>(m * n));

  cublasHandle_t handle;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CUBLAS(cublasCreate(&handle));
  CUBLAS(cublasSetStream(handle, stream));
  const float alpha = 2, beta = 3, nothing = 0;
  const int ld = with_mistake(argc, argv) ? m - 1 : m;
  CUBLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, da, ld, db, n, &beta, one, m));  // planted
  CUBLAS(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, da, m, m * k, db, n, n * k, &nothing, all, m, m * n,
                                   batches));
  CUBLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &alpha, on_device(half_a), CUDA_R_16F, m, on_device(half_b), CUDA_R_16F, n,
                      &nothing, from_half, CUDA_R_32F, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CHECK(cudaStreamSynchronize(stream));
  CUBLAS(cublasDestroy(handle));

  const std::vector<float> first = on_host(one, m * n), batch = on_host(all, m * n * batches), half = on_host(from_half, m * n);
  bool right = true;
  for (int i = 0; i < m * n * batches; ++i) {
    const int which = i / (m * n), row = i % m, column = i % (m * n) / m;
    float sum = 0;
    for (int d = 0; d < k; ++d) sum += a[which * m * k + d * m + row] * b[which * n * k + d * n + column];
    right = right && batch[i] == 2 * sum && (which > 0 || (first[i] == 2 * sum + 3 && half[i] == 2 * sum));
  }
  return result(right);
}
