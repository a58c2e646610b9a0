// Products with few rows, or of little depth: a dense layer whose batch is divided among many GPUs.
//
// The weights are the large matrix, and each of its elements meets only a handful of samples. A general product copies its operands into
// panels first, which pays when they are used often; and while it copies, or waits for memory, it does not multiply. Here nothing large is
// copied, and what comes next is fetched while the multipliers are busy. Three shapes, as Product has them, with samples x (batch x in) and
// dy (batch x out) small, weights w (in x out) large:
//
//   forward           y = x w       few rows                        blocks of w, 128 or 384 deep, meet all rows
//   input gradient    dx = dy w^T   few rows, right transposed      dy is turned, so that the samples lie side by side in a vector
//   weight gradient   dw = x^T dy   little depth, left transposed   what is added to is fetched while the product is made
//
// An element is the sum of its blocks of the depth, in order, each a chain of fused multiply-adds, in order. So its bits follow from the
// shape of the whole product alone, not from how it is cut into parts or where its matrices lie. Gradients have one block: adding one to
// what is there gives the bits of computing it apart and adding it then. Zeros are multiplied like other numbers.
#pragma once

#include <cstdint>

#include "simulator/gpu/blas/product.h"

namespace lockstep::sim::blas {

// What it is computed with. Gradients have the same bits either way; forward, AVX-512 has deeper blocks.
enum class Instructions { none, avx2, avx512 };

// The widest that this processor has.
Instructions widest_instructions();

// Is this such a product, of a shape that was measured to be faster this way (bench/product_bench.cc)? With AVX-512 that is true of more
// shapes.
bool is_skinny(const Product& product, Scalars scalars, Instructions with = widest_instructions());

// Some rows and columns of a product: addresses of the first of them, leading dimensions as in Product.
struct SkinnyBlock {
  std::int64_t rows = 0, cols = 0;
  const float* left = nullptr;
  std::int64_t left_ld = 0;
  const float* right = nullptr;
  std::int64_t right_ld = 0;
  float* out = nullptr;
  std::int64_t out_ld = 0;
  bool add = false;  // to what is in `out`
};

void compute_skinny(const Product& product, const SkinnyBlock& block, Instructions with = widest_instructions());

}  // namespace lockstep::sim::blas
