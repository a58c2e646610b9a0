// The virtual cuBLASLt's handle, heuristic and product.
#include <cstdint>
#include <memory>
#include <utility>

#include "faults.h"
#include "product.h"

// The device that was current when the handle was made is the handle's device.
struct cublasLtContext {
  int device = 0;
};

namespace lockstep::sim::blas {
namespace {

constexpr std::uint64_t kAlgorithmMark = 0x6c6f636b73746570;  // says that an algorithm came from this library's heuristic
constexpr std::uintptr_t kWorkspaceAlignment = 256;

bool aligned(const void* address, std::uintptr_t alignment) { return reinterpret_cast<std::uintptr_t>(address) % alignment == 0; }

Touch touch_matrix(const void* address, const Layout& layout, bool write) {
  const bool by_column = layout.order == CUBLASLT_ORDER_COL;
  const std::uint64_t outer = by_column ? layout.cols : layout.rows, inner = by_column ? layout.rows : layout.cols;
  return {address, ((outer - 1) * static_cast<std::uint64_t>(layout.ld) + inner) * sizeof(float), write};
}

}  // namespace
}  // namespace lockstep::sim::blas

using namespace lockstep::sim::blas;  // NOLINT: the C interface of this file
namespace sim = lockstep::sim;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* lightHandle) {
  if (!lightHandle) return CUBLAS_STATUS_INVALID_VALUE;
  auto context = std::make_unique<cublasLtContext>();
  if (cudaGetDevice(&context->device) != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *lightHandle = context.release();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  if (!lightHandle) return CUBLAS_STATUS_INVALID_VALUE;
  std::unique_ptr<cublasLtContext>{lightHandle}.reset();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
                                              cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc,
                                              cublasLtMatrixLayout_t Ddesc, cublasLtMatmulPreference_t preference, int requestedAlgoCount,
                                              cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  if (!lightHandle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!operationDesc || !Adesc || !Bdesc || !Cdesc || !Ddesc || !preference || !heuristicResultsArray || !returnAlgoCount ||
      requestedAlgoCount <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *returnAlgoCount = 0;
  const Checked checked = check(read(*operationDesc), read(*Adesc), read(*Bdesc), read(*Cdesc), read(*Ddesc));
  if (checked.status != CUBLAS_STATUS_SUCCESS) return checked.status;
  cublasLtMatmulHeuristicResult_t result{};
  result.algo.data[0] = kAlgorithmMark;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  heuristicResultsArray[0] = result;
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t Adesc, const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta, const void* C,
                              cublasLtMatrixLayout_t Cdesc, void* D, cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  if (!lightHandle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const auto planned = lockstep::sim::planned_fault("cublasLtMatmul", lockstep::sim::device_of(stream)))
    return static_cast<cublasStatus_t>(*planned);
  if (!computeDesc || !alpha || !beta || !A || !B || !D || !Adesc || !Bdesc || !Cdesc || !Ddesc) return CUBLAS_STATUS_INVALID_VALUE;
  if (algo && algo->data[0] != kAlgorithmMark) return CUBLAS_STATUS_INVALID_VALUE;
  if (workspaceSizeInBytes != 0 && (!workspace || !aligned(workspace, kWorkspaceAlignment))) return CUBLAS_STATUS_INVALID_VALUE;
  for (const void* matrix : {A, B, C, static_cast<const void*>(D)}) {
    if (!aligned(matrix, alignof(float))) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Description description = read(*computeDesc);
  const Layout a = read(*Adesc), b = read(*Bdesc), c = read(*Cdesc), d = read(*Ddesc);
  const Checked checked = check(description, a, b, c, d);
  if (checked.status != CUBLAS_STATUS_SUCCESS) return checked.status;
  const Product& product = checked.product;
  const auto* bias = static_cast<const float*>(product.bias ? description.bias : nullptr);
  if (product.bias && (!bias || !aligned(bias, alignof(float)))) return CUBLAS_STATUS_INVALID_VALUE;

  const auto* alpha_address = static_cast<const float*>(alpha);
  const auto* beta_address = static_cast<const float*>(beta);
  Scalars scalars;
  if (!product.scalars_on_device) scalars = {*alpha_address, *beta_address};  // read now: the caller's variables may go
  const bool may_read_c = product.scalars_on_device || scalars.beta != 0.0F;
  if (may_read_c && !C) return CUBLAS_STATUS_INVALID_VALUE;
  if (C == D && (c.order != d.order || c.ld != d.ld)) return CUBLAS_STATUS_INVALID_VALUE;  // in place only as it lies
  if (sim::device_of(stream) != lightHandle->device) return CUBLAS_STATUS_EXECUTION_FAILED;

  sim::Operation operation;
  operation.kind = sim::OperationKind::matmul;
  operation.name = "matmul";
  operation.cost = product.cost(may_read_c);
  operation.touches = {touch_matrix(A, a, false), touch_matrix(B, b, false), touch_matrix(D, d, true)};
  if (may_read_c && C != D) operation.touches.push_back(touch_matrix(C, c, false));
  if (product.bias) operation.touches.push_back({bias, d.rows * sizeof(float), false});
  if (product.scalars_on_device) {
    operation.touches.push_back({alpha, sizeof(float), false});
    operation.touches.push_back({beta, sizeof(float), false});
  }
  operation.parts = sim::parts_for(operation.cost);
  const auto* left = static_cast<const float*>(product.operands_swapped ? B : A);
  const auto* right = static_cast<const float*>(product.operands_swapped ? A : B);
  const auto* old = static_cast<const float*>(C);
  auto* out = static_cast<float*>(D);
  operation.run = [=, parts = operation.parts](int part) {
    const Scalars now = product.scalars_on_device ? Scalars{*sim::resolve(alpha_address), *sim::resolve(beta_address)} : scalars;
    compute(product, now, sim::resolve(left), sim::resolve(right), may_read_c ? sim::resolve(old) : nullptr,
            bias ? sim::resolve(bias) : nullptr, sim::resolve(out), part, parts);
  };
  return sim::enqueue(stream, std::move(operation)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
