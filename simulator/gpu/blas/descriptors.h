// What the opaque structures of cublasLt.h hold.
//
// The caller owns the bytes (`data`); each structure below is at their beginning. Attributes are read and written by
// number through a table of offsets, so a wrong size is refused in one place.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cublasLt.h>

namespace lockstep::sim::blas {

struct Layout {
  std::uint32_t type = CUDA_R_32F;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t strided_batch_offset = 0;
  std::int64_t plane_offset = 0;
  std::int32_t batch_count = 1;
};

struct Description {
  std::int32_t compute_type = CUBLAS_COMPUTE_32F;
  std::int32_t scale_type = CUDA_R_32F;
  std::int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transa = CUBLAS_OP_N;
  std::int32_t transb = CUBLAS_OP_N;
  std::int32_t transc = CUBLAS_OP_N;
  std::int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_ld = 0;
  std::int32_t sm_count_target = 0;
  std::int32_t bias_type = -1;
};

struct Preference {
  std::uint64_t max_workspace_bytes = 0;
  std::uint64_t impl_mask = ~std::uint64_t{0};
  std::uint32_t search_mode = 0;
  std::uint32_t reduction_scheme_mask = 7;
  std::uint32_t min_alignment_a = 256;
  std::uint32_t min_alignment_b = 256;
  std::uint32_t min_alignment_c = 256;
  std::uint32_t min_alignment_d = 256;
  float max_waves_count = 0;
};

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Description) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

Layout read(const cublasLtMatrixLayoutOpaque_t& opaque);
Description read(const cublasLtMatmulDescOpaque_t& opaque);
Preference read(const cublasLtMatmulPreferenceOpaque_t& opaque);

}  // namespace lockstep::sim::blas
