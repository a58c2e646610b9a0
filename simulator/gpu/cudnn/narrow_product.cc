#include "simulator/gpu/cudnn/narrow_product.h"

#include <immintrin.h>

#include <algorithm>

namespace lockstep::sim::dnn {
namespace {

constexpr std::int64_t kMostElements = 6400;  // of the small matrix: 25 KB
constexpr int kVector = 8;

// Columns that are made at a time: three vectors of four rows, or two of six, with what they are multiplied with, fill 16 registers.
std::int64_t panel_of(std::int64_t n) { return n % (3 * kVector) == 0 ? 3 * kVector : 2 * kVector; }

#pragma GCC push_options
#pragma GCC target("avx2,fma")

template <int Rows, int Vectors>
void block(const float* in, std::int64_t depth, const float* panel, float* out, std::int64_t n) {
  __m256 sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_setzero_ps();
  for (std::int64_t d = 0; d < depth; ++d, panel += Vectors * kVector) {
    __m256 right[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) right[v] = _mm256_loadu_ps(panel + v * kVector);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m256 left = _mm256_broadcast_ss(in + r * depth + d);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_fmadd_ps(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) _mm256_storeu_ps(out + r * n + v * kVector, sums[r][v]);
}

template <int Rows, int Vectors>
void all_rows(const float* in, std::int64_t rows, std::int64_t depth, const float* packed, float* out, std::int64_t n) {
  constexpr std::int64_t kLine = 16, kAhead = 2;
  std::int64_t row = 0;
  for (; row + Rows <= rows; row += Rows) {
    const float* left = in + row * depth;
    float* to = out + row * n;
    // The rows after the next, as far as there are any.
    if (row + (kAhead + 1) * Rows <= rows) {
      for (std::int64_t i = 0; i < Rows * depth; i += kLine) __builtin_prefetch(left + kAhead * Rows * depth + i);
      for (std::int64_t i = 0; i < Rows * n; i += kLine) __builtin_prefetch(to + kAhead * Rows * n + i, 1);
    }
    for (std::int64_t first = 0; first < n; first += Vectors * kVector)
      block<Rows, Vectors>(left, depth, packed + first * depth, to + first, n);
  }
  for (; row < rows; ++row)
    for (std::int64_t first = 0; first < n; first += Vectors * kVector)
      block<1, Vectors>(in + row * depth, depth, packed + first * depth, out + row * n + first, n);
}

// out (Rows x Vectors) += the sum over `rows` of a's columns times b's.
template <int Rows, int Vectors>
void add_sums(const float* a, std::int64_t depth, const float* b, std::int64_t n, std::int64_t rows, float* out) {
  __m256 sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_setzero_ps();
  for (std::int64_t row = 0; row < rows; ++row, a += depth, b += n) {
    __m256 right[Vectors];
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) right[v] = _mm256_loadu_ps(b + v * kVector);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m256 left = _mm256_broadcast_ss(a + r);
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_fmadd_ps(left, right[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      float* const to = out + r * n + v * kVector;
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), sums[r][v]));
    }
}

// Fetches the share `part` of `parts` of `count` floats.
inline void prefetch_share(const float* from, std::int64_t count, std::int64_t part, std::int64_t parts) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t lines = (count + kLine - 1) / kLine;
  for (std::int64_t i = lines * part / parts; i < lines * (part + 1) / parts; ++i) __builtin_prefetch(from + i * kLine);
}

template <int Rows, int Vectors>
void all_sums(const float* a, std::int64_t depth, const float* b, std::int64_t n, std::int64_t rows, float* out) {
  constexpr std::int64_t kBlock = 32;  // rows: both sides stay in the cache until every element of the result has used them
  const std::int64_t tiles = n / (Vectors * kVector) * ((depth + Rows - 1) / Rows);
  std::fill_n(out, depth * n, 0.0F);
  for (std::int64_t row = 0; row < rows; row += kBlock, a += kBlock * depth, b += kBlock * n) {
    const std::int64_t count = std::min(kBlock, rows - row), ahead = std::clamp<std::int64_t>(rows - row - kBlock, 0, kBlock);
    std::int64_t tile = 0;
    for (std::int64_t j = 0; j < n; j += Vectors * kVector) {
      for (std::int64_t i = 0; i < depth; i += Rows, ++tile) {
        // A little of the next block each time: memory and multipliers are busy together.
        prefetch_share(a + kBlock * depth, ahead * depth, tile, tiles);
        prefetch_share(b + kBlock * n, ahead * n, tile, tiles);
        if (i + Rows <= depth) {
          add_sums<Rows, Vectors>(a + i, depth, b + j, n, count, out + i * n + j);
        } else {
          for (std::int64_t k = i; k < depth; ++k) add_sums<1, Vectors>(a + k, depth, b + j, n, count, out + k * n + j);
        }
      }
    }
  }
}

#pragma GCC pop_options

}  // namespace

NarrowProduct::NarrowProduct(std::int64_t depth, std::int64_t n) : depth_(depth), n_(n) {}

bool NarrowProduct::fits(std::int64_t depth, std::int64_t n) {
  static const bool capable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return capable && depth * n <= kMostElements && depth >= kVector && n % panel_of(n) == 0;
}

void NarrowProduct::pack(const float* b, std::int64_t row, std::int64_t column, float* packed) const {
  const std::int64_t width = panel_of(n_);
  for (std::int64_t first = 0; first < n_; first += width)
    for (std::int64_t d = 0; d < depth_; ++d)
      for (std::int64_t j = first; j < first + width; ++j) *packed++ = b[d * row + j * column];
}

void NarrowProduct::run(const float* in, std::int64_t rows, const float* packed, float* out) const {
  if (panel_of(n_) == 3 * kVector) {
    all_rows<4, 3>(in, rows, depth_, packed, out, n_);
  } else {
    all_rows<6, 2>(in, rows, depth_, packed, out, n_);
  }
}

void NarrowProduct::gradient(const float* a, const float* b, std::int64_t rows, float* out) const {
  if (panel_of(n_) == 3 * kVector) {
    all_sums<4, 3>(a, depth_, b, n_, rows, out);
  } else {
    all_sums<6, 2>(a, depth_, b, n_, rows, out);
  }
}

}  // namespace lockstep::sim::dnn
