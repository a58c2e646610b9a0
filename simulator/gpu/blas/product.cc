// Checks a product's descriptors and computes it by parts with oneDNN's single-precision GEMM.
//
// oneDNN's sgemm and its matmul primitive reach the same speed on the shapes of this project (85-95 GFLOP/s a core), and
// sgemm has no primitive to build, cache and lock; so sgemm it is.
#include "product.h"

#include <dnnl.h>

#include <algorithm>
#include <cstring>

#include "single_threaded.h"

namespace lockstep::sim::blas {
namespace {

bool known_order(std::int32_t order) { return order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW; }
bool known_operation(std::int32_t operation) { return operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_CONJG; }

bool single_precision(std::int32_t compute_type) {
  switch (compute_type) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return true;
    default:
      return false;
  }
}

// An impossible matrix: empty, or rows (columns) that overlap.
bool possible(const Layout& layout) {
  if (layout.rows == 0 || layout.cols == 0 || layout.batch_count < 1) return false;
  if (!known_order(layout.order)) return true;
  const auto inner = static_cast<std::int64_t>(layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.cols);
  return layout.ld >= inner;
}

bool same_layout_of_result(const Layout& c, const Layout& d) { return c.rows == d.rows && c.cols == d.cols; }

}  // namespace

Cost Product::cost(bool reads_c) const {
  const auto m = static_cast<double>(rows), n = static_cast<double>(cols), k = static_cast<double>(depth);
  return {2 * m * n * k, 4 * (m * k + k * n + m * n * (reads_c ? 2 : 1))};
}

Checked check(const Description& description, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const auto refuse = [](cublasStatus_t status) { return Checked{status, {}}; };
  for (const Layout* layout : {&a, &b, &c, &d}) {
    if (!possible(*layout)) return refuse(CUBLAS_STATUS_INVALID_VALUE);
  }
  for (const std::int32_t operation : {description.transa, description.transb, description.transc}) {
    if (!known_operation(operation)) return refuse(CUBLAS_STATUS_INVALID_VALUE);
  }
  const bool transpose_a = description.transa != CUBLAS_OP_N, transpose_b = description.transb != CUBLAS_OP_N;
  const std::uint64_t m = transpose_a ? a.cols : a.rows, depth_a = transpose_a ? a.rows : a.cols;
  const std::uint64_t n = transpose_b ? b.rows : b.cols, depth_b = transpose_b ? b.cols : b.rows;
  if (depth_a != depth_b || d.rows != m || d.cols != n || !same_layout_of_result(c, d)) return refuse(CUBLAS_STATUS_INVALID_VALUE);
  if (a.batch_count != b.batch_count || b.batch_count != c.batch_count || c.batch_count != d.batch_count) {
    return refuse(CUBLAS_STATUS_INVALID_VALUE);
  }

  for (const Layout* layout : {&a, &b, &c, &d}) {
    if (layout->type != CUDA_R_32F || !known_order(layout->order) || layout->batch_count != 1) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  if (!single_precision(description.compute_type) || description.scale_type != CUDA_R_32F) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  if (description.transa == CUBLAS_OP_CONJG || description.transb == CUBLAS_OP_CONJG || description.transc != CUBLAS_OP_N ||
      description.fill_mode != CUBLAS_FILL_MODE_FULL || description.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE ||
      description.pointer_mode < CUBLASLT_POINTER_MODE_HOST) {
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  if (description.bias_type != -1 && description.bias_type != CUDA_R_32F) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);

  Product product;
  switch (description.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      break;
    case CUBLASLT_EPILOGUE_RELU:
      product.relu = true;
      break;
    case CUBLASLT_EPILOGUE_BIAS:
      product.bias = true;
      break;
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      product.bias = product.relu = true;
      break;
    default:
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  product.scalars_on_device = description.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  product.depth = static_cast<std::int64_t>(depth_a);
  // Is an operand, as the row-major storage shows it, the transpose of what the product wants?
  const bool a_flipped = transpose_a != (a.order == CUBLASLT_ORDER_COL), b_flipped = transpose_b != (b.order == CUBLASLT_ORDER_COL);
  const bool c_by_column = c.order == CUBLASLT_ORDER_COL;
  product.out_ld = d.ld;
  if (d.order == CUBLASLT_ORDER_ROW) {
    product.rows = static_cast<std::int64_t>(m);
    product.cols = static_cast<std::int64_t>(n);
    product.left_transposed = a_flipped;
    product.left_ld = a.ld;
    product.right_transposed = b_flipped;
    product.right_ld = b.ld;
    product.bias_by_row = true;
    product.c_row_stride = c_by_column ? 1 : c.ld;
    product.c_col_stride = c_by_column ? c.ld : 1;
  } else {
    product.operands_swapped = true;
    product.rows = static_cast<std::int64_t>(n);
    product.cols = static_cast<std::int64_t>(m);
    product.left_transposed = !b_flipped;
    product.left_ld = b.ld;
    product.right_transposed = !a_flipped;
    product.right_ld = a.ld;
    product.bias_by_row = false;
    product.c_row_stride = c_by_column ? c.ld : 1;
    product.c_col_stride = c_by_column ? 1 : c.ld;
  }
  return {CUBLAS_STATUS_SUCCESS, product};
}

namespace {

struct Range {
  std::int64_t begin, end;
};

// Part `part` of `count` elements in whole grains; later parts may be empty.
Range slice(std::int64_t count, std::int64_t grain, int part, int parts) {
  const std::int64_t grains = (count + grain - 1) / grain;
  return {std::min(count, grains * part / parts * grain), std::min(count, grains * (part + 1) / parts * grain)};
}

void apply_epilogue(const Product& product, const float* bias, float* out, Range rows, Range cols) {
  if (!product.bias && !product.relu) return;
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    float* row = out + i * product.out_ld;
    if (product.bias && product.bias_by_row) {
      for (std::int64_t j = cols.begin; j < cols.end; ++j) row[j] += bias[i];
    } else if (product.bias) {
      for (std::int64_t j = cols.begin; j < cols.end; ++j) row[j] += bias[j];
    }
    if (product.relu) {
      for (std::int64_t j = cols.begin; j < cols.end; ++j) row[j] = row[j] < 0.0F ? 0.0F : row[j];  // NaN stays NaN
    }
  }
}

}  // namespace

void compute(const Product& product, Scalars scalars, const float* left, const float* right, const float* c, const float* bias, float* out,
             int part, int parts) {
  // Every part reads the whole of the operand it does not cut, so the longer side is cut. Grains are the GEMM kernel's tile.
  constexpr std::int64_t kRowGrain = 8, kColGrain = 16;
  Range rows{0, product.rows}, cols{0, product.cols};
  if (product.rows >= product.cols) {
    rows = slice(product.rows, kRowGrain, part, parts);
  } else {
    cols = slice(product.cols, kColGrain, part, parts);
  }
  if (rows.begin == rows.end || cols.begin == cols.end) return;

  const bool in_place = c == out && product.c_col_stride == 1 && product.c_row_stride == product.out_ld;
  if (scalars.beta != 0.0F && !in_place) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const float* from = c + i * product.c_row_stride;
      float* to = out + i * product.out_ld;
      for (std::int64_t j = cols.begin; j < cols.end; ++j) to[j] = from[j * product.c_col_stride];
    }
  }
  const SingleThreaded one_thread;
  left += product.left_transposed ? rows.begin : rows.begin * product.left_ld;
  right += product.right_transposed ? cols.begin * product.right_ld : cols.begin;
  // Refuses only sizes and leading dimensions that `check` has refused before.
  dnnl_sgemm(product.left_transposed ? 'T' : 'N', product.right_transposed ? 'T' : 'N', rows.end - rows.begin, cols.end - cols.begin,
             product.depth, scalars.alpha, left, product.left_ld, right, product.right_ld, scalars.beta,
             out + rows.begin * product.out_ld + cols.begin, product.out_ld);
  apply_epilogue(product, bias, out, rows, cols);
}

}  // namespace lockstep::sim::blas
