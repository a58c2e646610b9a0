// Products of a long matrix with a small one: 1 x 1 convolutions of few channels over many pixels.
//
// Arithmetic and memory take about as long here, so the pixels should stream while the multipliers are busy; oneDNN's kernels reach half of
// what either allows. The small matrix stays in the first-level cache, and four or six rows are made at a time in registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::sim::dnn {

class NarrowProduct {
 public:
  NarrowProduct() = default;
  // out (rows x n) = in (rows x depth) * b (depth x n)
  NarrowProduct(std::int64_t depth, std::int64_t n);

  // Is this such a product, and can this processor do it?
  static bool fits(std::int64_t depth, std::int64_t n);

  std::size_t packed_bytes() const { return static_cast<std::size_t>(depth_ * n_) * sizeof(float); }
  // b(d, j) is at d * row + j * column of `b`.
  void pack(const float* b, std::int64_t row, std::int64_t column, float* packed) const;
  // Every element is a chain of fused multiply-adds over the depth, whichever rows come together.
  void run(const float* in, std::int64_t rows, const float* packed, float* out) const;

  // out (depth x n) = a^T b, a (rows x depth), b (rows x n): a sum over rows, by blocks of them.
  void gradient(const float* a, const float* b, std::int64_t rows, float* out) const;

 private:
  std::int64_t depth_ = 0, n_ = 0;
};

}  // namespace lockstep::sim::dnn
