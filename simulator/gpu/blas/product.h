// One matrix product as the CPU computes it: row-major, whatever orders and transposes the caller used.
//
// A column-major matrix is the row-major matrix of its transpose, so a column-major D = op(A) op(B) is computed as the
// row-major D^T = op(B)^T op(A)^T: operands swapped, no data moved.
#pragma once

#include <cstdint>
#include <optional>

#include "descriptors.h"
#include "operation.h"

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
void compute(const Product& product, Scalars scalars, const float* left, const float* right, const float* c, const float* bias, float* out,
             int part, int parts);

}  // namespace lockstep::sim::blas
