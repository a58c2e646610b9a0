// One matrix product, or a batch of them, as the CPU computes it: row-major, whatever orders and transposes the caller used.
//
// 16-bit matrices are widened to float, summed in float with bias and relu, and rounded once, when the result is stored.
// A column-major matrix is the row-major matrix of its transpose, so a column-major D = op(A) op(B) is computed as the
// row-major D^T = op(B)^T op(A)^T: operands swapped, no data moved.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/gpu/blas/descriptors.h"
#include "simulator/gpu/runtime/operation.h"
#include "simulator/gpu/runtime/storage.h"

namespace lockstep::sim::blas {

struct Product {
  // out(rows x cols) = left(rows x depth) * right(depth x cols), row-major, leading dimensions in elements.
  std::int64_t rows = 0, cols = 0, depth = 0;
  bool operands_swapped = false;                           // left is the caller's B, right the caller's A
  bool left_transposed = false, right_transposed = false;  // stored as depth x rows, as cols x depth
  std::int64_t left_ld = 0, right_ld = 0, out_ld = 0;
  std::int64_t c_row_stride = 0, c_col_stride = 0;  // of element (row, col) of `out` inside C
  bool bias_by_row = false;                         // else by column of `out`
  bool bias = false, relu = false;
  bool scalars_on_device = false;
  Storage in = Storage::f32, out = Storage::f32;  // of left and right; of c, bias and the result
  std::int64_t batches = 1;
  std::int64_t left_stride = 0, right_stride = 0, c_stride = 0, out_stride = 0, bias_stride = 0;  // from one of the batch to the next

  Cost cost(bool reads_c) const;
};

// The product that descriptors ask for, or the status with which they are refused.
struct Checked {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  Product product;
};
Checked check(const Description& description, const Layout& a, const Layout& b, const Layout& c, const Layout& d);

struct Scalars {
  float alpha = 1;
  float beta = 0;
};

// Computes part `part` of `parts`; addresses are of host memory. c may equal out.
void compute(const Product& product, Scalars scalars, const void* left, const void* right, const void* c, const void* bias, void* out,
             int part, int parts);

}  // namespace lockstep::sim::blas
