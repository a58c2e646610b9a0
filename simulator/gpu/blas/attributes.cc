// Descriptors of the virtual cuBLASLt: made, destroyed, and their attributes set and read.
//
// As in the real library, setting checks only the size; values are checked when a product is made.
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

#include "simulator/gpu/blas/descriptors.h"

namespace lockstep::sim::blas {
namespace {

struct Attribute {
  int number;
  std::size_t offset;
  std::size_t bytes;
};

#define LOCKSTEP_ATTRIBUTE(number, structure, member) \
  Attribute { number, offsetof(structure, member), sizeof(structure::member) }

constexpr std::array kLayoutAttributes = {
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, cols),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch_count),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, strided_batch_offset),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane_offset),
};

constexpr std::array kDescriptionAttributes = {
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Description, compute_type),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, Description, scale_type),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, Description, pointer_mode),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, Description, transa),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, Description, transb),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, Description, transc),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, Description, fill_mode),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, Description, epilogue),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Description, bias),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, Description, bias_batch_stride),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, Description, aux),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, Description, aux_ld),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, Description, sm_count_target),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, Description, bias_type),
};

constexpr std::array kPreferenceAttributes = {
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, max_workspace_bytes),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_scheme_mask),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, min_alignment_a),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, min_alignment_b),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, min_alignment_c),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, min_alignment_d),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, max_waves_count),
    LOCKSTEP_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, impl_mask),
};

#undef LOCKSTEP_ATTRIBUTE

template <typename Table>
const Attribute* find(const Table& table, int number) {
  for (const Attribute& attribute : table) {
    if (attribute.number == number) return &attribute;
  }
  return nullptr;
}

template <typename Value, typename Opaque>
cublasStatus_t create(Opaque** out, const Value& value) {
  static_assert(std::is_trivially_copyable_v<Value>);
  if (!out) return CUBLAS_STATUS_INVALID_VALUE;
  auto opaque = std::make_unique<Opaque>();
  std::memcpy(opaque->data, &value, sizeof value);
  *out = opaque.release();
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Opaque>
cublasStatus_t destroy(Opaque* opaque) {
  std::unique_ptr<Opaque>{opaque}.reset();
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Table, typename Opaque>
cublasStatus_t set(const Table& table, Opaque* opaque, int number, const void* from, std::size_t bytes) {
  const Attribute* attribute = find(table, number);
  if (!opaque || !attribute || !from || bytes != attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(reinterpret_cast<std::byte*>(opaque->data) + attribute->offset, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// With 0 bytes of room it returns how many bytes the attribute needs.
template <typename Table, typename Opaque>
cublasStatus_t get(const Table& table, const Opaque* opaque, int number, void* to, std::size_t bytes, std::size_t* written) {
  const Attribute* attribute = find(table, number);
  if (!opaque || !attribute) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes == 0) {
    if (!written) return CUBLAS_STATUS_INVALID_VALUE;
    *written = attribute->bytes;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (!to || bytes != attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, reinterpret_cast<const std::byte*>(opaque->data) + attribute->offset, bytes);
  if (written) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Value, typename Opaque>
Value read_as(const Opaque& opaque) {
  Value value;
  std::memcpy(&value, opaque.data, sizeof value);
  return value;
}

}  // namespace

Layout read(const cublasLtMatrixLayoutOpaque_t& opaque) { return read_as<Layout>(opaque); }
Description read(const cublasLtMatmulDescOpaque_t& opaque) { return read_as<Description>(opaque); }
Preference read(const cublasLtMatmulPreferenceOpaque_t& opaque) { return read_as<Preference>(opaque); }

}  // namespace lockstep::sim::blas

using namespace lockstep::sim::blas;  // NOLINT: the C interface of this file

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld) {
  Layout layout;
  layout.type = type;
  layout.rows = rows;
  layout.cols = cols;
  layout.ld = ld;
  return create(matLayout, layout);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) { return destroy(matLayout); }

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout, cublasLtMatrixLayoutAttribute_t attr, const void* buf,
                                                size_t sizeInBytes) {
  return set(kLayoutAttributes, matLayout, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t matLayout, cublasLtMatrixLayoutAttribute_t attr, void* buf,
                                                size_t sizeInBytes, size_t* sizeWritten) {
  return get(kLayoutAttributes, matLayout, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc, cublasComputeType_t computeType, cudaDataType_t scaleType) {
  Description description;
  description.compute_type = computeType;
  description.scale_type = scaleType;
  return create(matmulDesc, description);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) { return destroy(matmulDesc); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc, cublasLtMatmulDescAttributes_t attr, const void* buf,
                                              size_t sizeInBytes) {
  return set(kDescriptionAttributes, matmulDesc, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t matmulDesc, cublasLtMatmulDescAttributes_t attr, void* buf,
                                              size_t sizeInBytes, size_t* sizeWritten) {
  return get(kDescriptionAttributes, matmulDesc, attr, buf, sizeInBytes, sizeWritten);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) { return create(pref, Preference{}); }

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) { return destroy(pref); }

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  return set(kPreferenceAttributes, pref, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t attr, void* buf,
                                                    size_t sizeInBytes, size_t* sizeWritten) {
  return get(kPreferenceAttributes, pref, attr, buf, sizeInBytes, sizeWritten);
}
