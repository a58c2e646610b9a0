// Matrix products through cuBLASLt.
//
// cuBLASLt is column-major. A row-major matrix read as column-major is its transpose, and C^T = B^T A^T; so the operands change
// places and nothing is moved. The bias runs along the rows of C^T, as cuBLASLt's BIAS epilogue has it.
#include "engine/ops/matmul.h"

#include <array>

#include <backend/tuning.h>

#include "engine/device/check.h"
#include "engine/ops/op_check.h"

namespace lockstep::ops {

namespace {

// What every tensor of a program keeps to; 256 is what the heuristics assume, and slices of a batch may start lower.
constexpr std::uint32_t kAlignment = 16;

}  // namespace

struct Matmul::Plan {
  Spec spec;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, product = nullptr;  // column-major: b, a, c
  cublasLtMatmulHeuristicResult_t choice{};

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {left, right, product}) {
      if (layout != nullptr) static_cast<void>(cublasLtMatrixLayoutDestroy(layout));
    }
    if (operation != nullptr) static_cast<void>(cublasLtMatmulDescDestroy(operation));
  }

  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    LOCKSTEP_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
  }
  void choose();
};

// Asks the heuristic once; the algorithm stays the same for the plan's life, so a shape always gives the same bits.
void Matmul::Plan::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  LOCKSTEP_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, cublasStatus_t (*)(cublasLtMatmulPreference_t)> owner(
      preference, cublasLtMatmulPreferenceDestroy);
  LOCKSTEP_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &tuning::kMatmulWorkspace,
                                                      sizeof tuning::kMatmulWorkspace));
  constexpr std::array kAlignments = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (const auto attribute : kAlignments) {
    LOCKSTEP_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &kAlignment, sizeof kAlignment));
  }
  int found = 0;
  LOCKSTEP_CHECK(cublasLtMatmulAlgoGetHeuristic(handle, operation, left, right, product, product, preference, 1, &choice, &found));
  if (found == 0 || choice.state != CUBLAS_STATUS_SUCCESS) {
    throw Error("cuBLASLt has no algorithm for a matrix product of " + std::to_string(spec.m) + " x " + std::to_string(spec.k) + " with " +
                std::to_string(spec.k) + " x " + std::to_string(spec.n) + ".");
  }
}

Matmul::Matmul(LogicalGpu& gpu, const Spec& spec) : plan_(std::make_unique<Plan>()) {
  if (spec.relu && !spec.bias) throw Error("Matmul: relu is fused only together with a bias.");
  plan_->spec = spec;
  if (spec.m == 0 || spec.n == 0) return;
  if (spec.m < 0 || spec.n < 0 || spec.k <= 0) throw Error("Matmul: m, n and k are positive.");
  const DeviceGuard guard(gpu.physical());
  Plan& plan = *plan_;
  plan.handle = gpu.blas();
  const auto rows = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  LOCKSTEP_CHECK(cublasLtMatmulDescCreate(&plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  plan.set(CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  plan.set(CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  const cublasLtEpilogue_t epilogue =
      spec.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : (spec.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT);
  plan.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  // b is k x n (or n x k) row-major: column-major n x k with n rows (or k x n with k rows).
  LOCKSTEP_CHECK(cublasLtMatrixLayoutCreate(&plan.left, CUDA_R_32F, rows(spec.transpose_b ? spec.k : spec.n),
                                            rows(spec.transpose_b ? spec.n : spec.k), spec.transpose_b ? spec.k : spec.n));
  LOCKSTEP_CHECK(cublasLtMatrixLayoutCreate(&plan.right, CUDA_R_32F, rows(spec.transpose_a ? spec.m : spec.k),
                                            rows(spec.transpose_a ? spec.k : spec.m), spec.transpose_a ? spec.m : spec.k));
  LOCKSTEP_CHECK(cublasLtMatrixLayoutCreate(&plan.product, CUDA_R_32F, rows(spec.n), rows(spec.m), spec.n));
  plan.choose();
}

Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;

std::size_t Matmul::scratch_bytes() const { return plan_->choice.workspaceSize; }

void Matmul::run(const OpContext& context, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& c) const {
  Plan& plan = *plan_;
  const Spec& spec = plan.spec;
  expect_size("Matmul", "a", a, spec.m * spec.k);
  expect_size("Matmul", "b", b, spec.k * spec.n);
  expect_size("Matmul", "c", c, spec.m * spec.n);
  if (spec.bias) expect_size("Matmul", "the bias", bias, spec.n);
  if (c.size() == 0) return;
  expect_scratch("Matmul", context, scratch_bytes());
  for (const Tensor* tensor : {&a, &b, &c}) {
    if (reinterpret_cast<std::uintptr_t>(tensor->raw()) % kAlignment != 0) throw Error("Matmul: tensors start at multiples of 16 bytes.");
  }
  const DeviceGuard guard(context.stream->device());
  if (spec.bias) {
    const void* pointer = bias.raw();
    plan.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer);
  }
  const float one = 1, zero = 0;
  LOCKSTEP_CHECK(cublasLtMatmul(plan.handle, plan.operation, &one, b.raw(), plan.left, a.raw(), plan.right, &zero, c.raw(), plan.product,
                                c.raw(), plan.product, &plan.choice.algo, scratch_bytes() > 0 ? context.scratch.raw() : nullptr,
                                scratch_bytes(), context.stream->get()));
}

}  // namespace lockstep::ops
