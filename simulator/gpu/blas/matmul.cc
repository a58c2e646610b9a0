// The virtual cuBLASLt's handle, heuristic and product.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/gpu/blas/product.h"
#include "simulator/gpu/runtime/faults.h"

// The device that was current when the handle was made is the handle's device.
struct cublasLtContext {
  int device = 0;
};

namespace lockstep::sim::blas {
namespace {

constexpr std::uint64_t kAlgorithmMark = 0x6c6f636b73746570;  // says that an algorithm came from this library's heuristic
constexpr std::uintptr_t kWorkspaceAlignment = 256;

bool aligned(const void* address, std::uintptr_t alignment) { return reinterpret_cast<std::uintptr_t>(address) % alignment == 0; }

std::size_t element_bytes(const Layout& layout) { return layout.type == CUDA_R_32F ? sizeof(float) : sizeof(std::uint16_t); }

// The bytes of a batch of matrices, without what lies between their columns (rows) and between them.
void touch_matrices(std::vector<Touch>& touches, const void* address, const Layout& layout, bool write) {
  const bool by_column = layout.order == CUBLASLT_ORDER_COL;
  std::uint64_t lines = by_column ? layout.cols : layout.rows, length = by_column ? layout.rows : layout.cols;
  if (static_cast<std::uint64_t>(layout.ld) == length) {  // no gaps: one long line
    length *= lines;
    lines = 1;
  }
  const std::size_t first = touches.size(), element = element_bytes(layout), bytes = length * element;
  const std::int64_t batches = layout.strided_batch_offset == 0 ? 1 : layout.batch_count;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    for (std::uint64_t line = 0; line < lines; ++line) {
      const std::int64_t offset = batch * layout.strided_batch_offset + static_cast<std::int64_t>(line) * layout.ld;
      const auto* begin = static_cast<const std::byte*>(address) + offset * static_cast<std::int64_t>(element);
      if (touches.size() > first && static_cast<const std::byte*>(touches.back().begin) + touches.back().bytes == begin) {
        touches.back().bytes += bytes;
      } else {
        touches.push_back({begin, bytes, write});
      }
    }
  }
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
  const Description description = read(*computeDesc);
  const Layout a = read(*Adesc), b = read(*Bdesc), c = read(*Cdesc), d = read(*Ddesc);
  const Checked checked = check(description, a, b, c, d);
  if (checked.status != CUBLAS_STATUS_SUCCESS) return checked.status;
  const Product& product = checked.product;
  if (!aligned(A, element_bytes(a)) || !aligned(B, element_bytes(b)) || !aligned(C, element_bytes(c)) || !aligned(D, element_bytes(d))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const void* bias = product.bias ? description.bias : nullptr;
  if (product.bias && (!bias || !aligned(bias, element_bytes(d)))) return CUBLAS_STATUS_INVALID_VALUE;

  const auto* alpha_address = static_cast<const float*>(alpha);
  const auto* beta_address = static_cast<const float*>(beta);
  Scalars scalars;
  if (!product.scalars_on_device) scalars = {*alpha_address, *beta_address};  // read now: the caller's variables may go
  const bool may_read_c = product.scalars_on_device || scalars.beta != 0.0F;
  if (may_read_c && !C) return CUBLAS_STATUS_INVALID_VALUE;
  if (C == D && (c.order != d.order || c.ld != d.ld || c.strided_batch_offset != d.strided_batch_offset))
    return CUBLAS_STATUS_INVALID_VALUE;  // in place only as it lies
  if (sim::device_of(stream) != lightHandle->device) return CUBLAS_STATUS_EXECUTION_FAILED;

  sim::Operation operation;
  operation.kind = sim::OperationKind::matmul;
  operation.name = "matmul";
  operation.cost = product.cost(may_read_c);
  touch_matrices(operation.touches, A, a, false);
  touch_matrices(operation.touches, B, b, false);
  if (may_read_c) touch_matrices(operation.touches, C, c, false);
  for (std::int64_t i = 0; product.bias && i < (product.bias_stride == 0 ? 1 : product.batches); ++i) {
    const auto* begin = static_cast<const std::byte*>(bias) + i * product.bias_stride * static_cast<std::int64_t>(element_bytes(d));
    operation.touches.push_back({begin, d.rows * element_bytes(d), false});
  }
  touch_matrices(operation.touches, D, d, true);
  if (product.scalars_on_device) {
    operation.touches.push_back({alpha, sizeof(float), false});
    operation.touches.push_back({beta, sizeof(float), false});
  }
  operation.parts = sim::parts_for(operation.cost);
  const void* left = product.operands_swapped ? B : A;
  const void* right = product.operands_swapped ? A : B;
  operation.run = [=, parts = operation.parts](int part) {
    const Scalars now = product.scalars_on_device ? Scalars{*sim::resolve(alpha_address), *sim::resolve(beta_address)} : scalars;
    compute(product, now, sim::resolve(left), sim::resolve(right), may_read_c ? sim::resolve(C) : nullptr,
            bias ? sim::resolve(bias) : nullptr, sim::resolve(D), part, parts);
  };
  return sim::enqueue(stream, std::move(operation)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
