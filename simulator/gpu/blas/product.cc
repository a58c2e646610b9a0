// Checks a product's descriptors and computes it by parts with oneDNN's single-precision GEMM, or, where few samples meet many weights,
// with a product of our own (skinny_product.h).
//
// oneDNN's sgemm and its matmul primitive reach the same speed on the shapes of this project (85-95 GFLOP/s a core, if the operands are in
// a cache), and sgemm has no primitive to build, cache and lock; so sgemm it is.
#include "simulator/gpu/blas/product.h"

#include <dnnl.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulator/gpu/blas/skinny_product.h"
#include "simulator/gpu/runtime/single_threaded.h"

namespace lockstep::sim::blas {
namespace {

bool known_order(std::int32_t order) { return order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW; }
bool known_operation(std::int32_t operation) { return operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_CONJG; }

// The fast ways to compute in single precision narrow float matrices on their way in; narrow ones need none.
bool single_precision(std::int32_t compute_type, Storage in) {
  switch (compute_type) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return true;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return in == Storage::f32;
    default:
      return false;
  }
}

std::optional<Storage> storage_of(std::uint32_t type) {
  switch (type) {
    case CUDA_R_32F:
      return Storage::f32;
    case CUDA_R_16F:
      return Storage::f16;
    case CUDA_R_16BF:
      return Storage::bf16;
    default:
      return std::nullopt;
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
  const auto count = static_cast<double>(batches), in_bytes = static_cast<double>(bytes_of(in)),
             out_bytes = static_cast<double>(bytes_of(out));
  return {2 * m * n * k * count, count * (in_bytes * (m * k + k * n) + out_bytes * m * n * (reads_c ? 2 : 1))};
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
    if (!known_order(layout->order)) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  // Types that may be combined: A and B have the same, C and D have the same, and D's is A's or single precision.
  const auto in = storage_of(a.type), out = storage_of(d.type);
  if (!in || !out || a.type != b.type || c.type != d.type || (d.type != a.type && d.type != CUDA_R_32F)) {
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  if (!single_precision(description.compute_type, *in) || description.scale_type != CUDA_R_32F) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  if (description.transa == CUBLAS_OP_CONJG || description.transb == CUBLAS_OP_CONJG || description.transc != CUBLAS_OP_N ||
      description.fill_mode != CUBLAS_FILL_MODE_FULL || description.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE ||
      description.pointer_mode < CUBLASLT_POINTER_MODE_HOST) {
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  if (description.bias_type != -1 && description.bias_type != static_cast<std::int32_t>(d.type)) return refuse(CUBLAS_STATUS_NOT_SUPPORTED);

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
  product.in = *in;
  product.out = *out;
  product.batches = d.batch_count;
  product.c_stride = c.strided_batch_offset;
  product.out_stride = d.strided_batch_offset;
  product.bias_stride = description.bias_batch_stride;
  product.left_stride = d.order == CUBLASLT_ORDER_ROW ? a.strided_batch_offset : b.strided_batch_offset;
  product.right_stride = d.order == CUBLASLT_ORDER_ROW ? b.strided_batch_offset : a.strided_batch_offset;
  product.scalars_on_device = description.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  product.depth = static_cast<std::int64_t>(depth_a);
  // Whether an operand, read as row-major storage, is the transpose of the product's operand.
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

struct Slice {
  std::int64_t begin, end;
};

// Part `part` of `count` elements in whole grains; later parts may be empty.
Slice slice(std::int64_t count, std::int64_t grain, int part, int parts) {
  const std::int64_t grains = (count + grain - 1) / grain;
  return {std::min(count, grains * part / parts * grain), std::min(count, grains * (part + 1) / parts * grain)};
}

void add_bias(const Product& product, const float* bias, float* out, std::int64_t ld, Slice rows, Slice cols) {
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    float* row = out + (i - rows.begin) * ld;
    const float* by_column = bias + cols.begin;
    for (std::int64_t j = 0; j < cols.end - cols.begin; ++j) row[j] += product.bias_by_row ? bias[i] : by_column[j];
  }
}

void apply_relu(float* out, std::int64_t ld, Slice rows, Slice cols) {
  for (std::int64_t i = 0; i < rows.end - rows.begin; ++i) {
    float* row = out + i * ld;
    for (std::int64_t j = 0; j < cols.end - cols.begin; ++j) row[j] = row[j] < 0.0F ? 0.0F : row[j];  // NaN stays NaN
  }
}

// Rows of a stored matrix, or the part of them that starts at an offset, widened and packed.
void widen(Storage storage, const void* from, std::int64_t ld, std::int64_t offset, std::int64_t rows, std::int64_t cols,
           std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(rows * cols));
  for (std::int64_t i = 0; i < rows; ++i) load(storage, from, offset + i * ld, cols, to.data() + i * cols);
}

// What a worker keeps from one product to the next, so that these allocate nothing once they are warm.
struct Widened {
  std::vector<float> left, right, out, bias, apart;
};

Widened& of_this_thread() {
  thread_local Widened widened;
  return widened;
}

// Rows and columns `rows` x `cols` of one product; the addresses are those of the whole.
void compute_block(const Product& product, Scalars scalars, const void* left, const void* right, const void* c, const void* bias, void* out,
                   Slice rows, Slice cols) {
  const std::int64_t m = rows.end - rows.begin, n = cols.end - cols.begin;
  Widened& wide = of_this_thread();
  const std::int64_t left_offset = product.left_transposed ? rows.begin : rows.begin * product.left_ld;
  const std::int64_t right_offset = product.right_transposed ? cols.begin * product.right_ld : cols.begin;
  const float* a = static_cast<const float*>(left) + left_offset;
  const float* b = static_cast<const float*>(right) + right_offset;
  std::int64_t a_ld = product.left_ld, b_ld = product.right_ld;
  if (product.in != Storage::f32) {
    const bool at = product.left_transposed, bt = product.right_transposed;
    widen(product.in, left, a_ld, left_offset, at ? product.depth : m, at ? m : product.depth, wide.left);
    widen(product.in, right, b_ld, right_offset, bt ? n : product.depth, bt ? product.depth : n, wide.right);
    a = wide.left.data();
    b = wide.right.data();
    a_ld = at ? m : product.depth;
    b_ld = bt ? product.depth : n;
  }
  const bool narrow = product.out != Storage::f32;
  if (narrow) wide.out.resize(static_cast<std::size_t>(m * n));
  float* const result = narrow ? wide.out.data() : static_cast<float*>(out) + rows.begin * product.out_ld + cols.begin;
  const std::int64_t ld = narrow ? n : product.out_ld;

  const bool in_place = !narrow && c == out && product.c_col_stride == 1 && product.c_row_stride == product.out_ld;
  if (scalars.beta != 0.0F && !in_place) {
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t first = (rows.begin + i) * product.c_row_stride + cols.begin * product.c_col_stride;
      if (product.c_col_stride == 1) {
        load(product.out, c, first, n, result + i * ld);
      } else {
        for (std::int64_t j = 0; j < n; ++j) load(product.out, c, first + j * product.c_col_stride, 1, result + i * ld + j);
      }
    }
  }
  if (is_skinny(product, scalars)) {
    compute_skinny(product, {m, n, a, a_ld, b, b_ld, result, ld, scalars.beta != 0.0F});
  } else {
    // Added once the product is complete, as a GPU's epilogue does: sgemm would add the first part of a large depth to C, then the next.
    const bool apart = scalars.beta == 1.0F;
    if (apart) wide.apart.resize(static_cast<std::size_t>(m * n));
    // Refuses only sizes and leading dimensions that `check` has refused before.
    dnnl_sgemm(product.left_transposed ? 'T' : 'N', product.right_transposed ? 'T' : 'N', m, n, product.depth, scalars.alpha, a, a_ld, b,
               b_ld, apart ? 0.0F : scalars.beta, apart ? wide.apart.data() : result, apart ? n : ld);
    for (std::int64_t i = 0; apart && i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) result[i * ld + j] += wide.apart[static_cast<std::size_t>(i * n + j)];
  }
  if (product.bias) {
    const std::int64_t count = product.bias_by_row ? product.rows : product.cols;
    if (narrow) {
      wide.bias.resize(static_cast<std::size_t>(count));
      load(product.out, bias, 0, count, wide.bias.data());
    }
    add_bias(product, narrow ? wide.bias.data() : static_cast<const float*>(bias), result, ld, rows, cols);
  }
  if (product.relu) apply_relu(result, ld, rows, cols);
  if (narrow) {
    for (std::int64_t i = 0; i < m; ++i) store(product.out, result + i * n, n, out, (rows.begin + i) * product.out_ld + cols.begin);
  }
}

const void* advance(const void* address, std::int64_t elements, Storage storage) {
  return static_cast<const std::byte*>(address) + elements * static_cast<std::int64_t>(bytes_of(storage));
}

}  // namespace

void compute(const Product& product, Scalars scalars, const void* left, const void* right, const void* c, const void* bias, void* out,
             int part, int parts) {
  // Every part reads the whole of the operand it does not cut, so the longer side is cut. Grains are the GEMM kernel's tile.
  // A large batch is cut between its products instead.
  constexpr std::int64_t kRowGrain = 8, kColGrain = 16;
  Slice batches{0, product.batches}, rows{0, product.rows}, cols{0, product.cols};
  if (product.batches >= parts && product.batches > 1) {
    batches = slice(product.batches, 1, part, parts);
  } else if (product.rows >= product.cols) {
    rows = slice(product.rows, kRowGrain, part, parts);
  } else {
    cols = slice(product.cols, kColGrain, part, parts);
  }
  if (rows.begin == rows.end || cols.begin == cols.end) return;
  const SingleThreaded one_thread;
  for (std::int64_t i = batches.begin; i < batches.end; ++i) {
    compute_block(product, scalars, advance(left, i * product.left_stride, product.in),
                  advance(right, i * product.right_stride, product.in), c ? advance(c, i * product.c_stride, product.out) : nullptr,
                  bias ? advance(bias, i * product.bias_stride, product.out) : nullptr,
                  const_cast<void*>(advance(out, i * product.out_stride, product.out)), rows, cols);
  }
}

}  // namespace lockstep::sim::blas
