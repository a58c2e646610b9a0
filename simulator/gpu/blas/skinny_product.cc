#include "simulator/gpu/blas/skinny_product.h"

#include <immintrin.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::sim::blas {
namespace {

enum class Into { fresh, sum };  // overwrite, add to what is there

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {

// to (8 x 8) = from^T, or is added to.
inline void turn_block(const float* from, std::int64_t from_ld, float* to, std::int64_t to_ld, bool add) {
  __m256 a[8], b[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * from_ld);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m256 row = i < 4 ? _mm256_permute2f128_ps(a[i % 4], a[i % 4 + 4], 0x20) : _mm256_permute2f128_ps(a[i % 4], a[i % 4 + 4], 0x31);
    float* const out = to + i * to_ld;
    _mm256_storeu_ps(out, add ? _mm256_add_ps(_mm256_loadu_ps(out), row) : row);
  }
}

struct Vector {
  using Floats = __m256;
  using Mask = __m256i;
  static constexpr std::int64_t kLanes = 8;
  static Mask first_lanes(std::int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats broadcast(const float* from) { return _mm256_broadcast_ss(from); }
  static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  static Floats load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void store(float* to, Floats value) { _mm256_storeu_ps(to, value); }
  static void store(float* to, Mask mask, Floats value) { _mm256_maskstore_ps(to, mask, value); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats sum) { return _mm256_fmadd_ps(a, b, sum); }
};

// Sums of 6 rows of two vectors, or of 12 rows of one, with what is multiplied, fill the 16 registers.
constexpr std::int64_t kPairRows = 6, kSingleRows = 12;
constexpr std::int64_t kForwardBlock = 128, kTurned = 24, kAhead = 12, kSpread = 1;

#include "simulator/gpu/blas/skinny_tiles.inl"

}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma,prfchw")
namespace avx512 {

struct Vector {
  using Floats = __m512;
  using Mask = __mmask16;
  static constexpr std::int64_t kLanes = 16;
  static Mask first_lanes(std::int64_t count) { return static_cast<Mask>((1U << count) - 1U); }
  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static Floats load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static void store(float* to, Floats value) { _mm512_storeu_ps(to, value); }
  static void store(float* to, Mask mask, Floats value) { _mm512_mask_storeu_ps(to, mask, value); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats sum) { return _mm512_fmadd_ps(a, b, sum); }
};

using avx2::turn_block;  // one of 16 x 16 was not faster

// The 32 registers would hold more, but with 12 rows of pairs a product in the cache reached 110 GFLOP/s, with 14 only 106, and 115 with 8.
constexpr std::int64_t kPairRows = 8, kSingleRows = 16;
// With blocks of 128, sums go to memory and back three times as often: 2 % slower. A pair has two lines, so one panel's steps do not
// suffice to fetch the samples of a weight gradient.
constexpr std::int64_t kForwardBlock = 384, kTurned = 32, kAhead = 32, kSpread = 4;

#include "simulator/gpu/blas/skinny_tiles.inl"

}  // namespace avx512
#pragma GCC pop_options

}  // namespace

Instructions widest_instructions() {
  static const Instructions widest = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Instructions::none;
    return __builtin_cpu_supports("avx512f") ? Instructions::avx512 : Instructions::avx2;
  }();
  return widest;
}

bool is_skinny(const Product& product, Scalars scalars, Instructions with) {
  if (with == Instructions::none || scalars.alpha != 1.0F || (scalars.beta != 0.0F && scalars.beta != 1.0F)) return false;
  const bool wide = with == Instructions::avx512;
  // A megabyte of weights: less stays in a cache, whatever the number of replicas, and a general product does as well.
  constexpr std::int64_t kLarge = 1 << 18, kLine = 16;
  if (product.left_transposed) {
    return !product.right_transposed && product.depth <= (wide ? 128 : 64) && product.cols <= 128 && product.cols % kLine == 0 &&
           product.rows * product.cols >= kLarge;
  }
  if (product.right_transposed) {
    return product.rows >= 2 && product.rows <= (wide ? 128 : product.depth / 2) && product.depth >= 64 && product.depth <= 128 &&
           product.cols * product.depth >= kLarge;
  }
  if (product.rows < 2) return false;
  return product.rows <= 32 || (wide && product.rows <= 128 && product.cols % kLine == 0 && product.depth * product.cols >= kLarge);
}

void compute_skinny(const Product& product, const SkinnyBlock& block, Instructions with) {
  if (block.rows == 0 || block.cols == 0) return;
  const bool wide = with == Instructions::avx512;
  if (product.left_transposed) return (wide ? avx512::little_depth : avx2::little_depth)(block, product.depth);
  if (!product.right_transposed) return (wide ? avx512::few_rows : avx2::few_rows)(block, product.depth);

  struct alignas(64) Line {
    float of[16];
  };
  thread_local std::vector<Line> samples;
  const auto lines = static_cast<std::size_t>((block.rows + 31) / 32 * 2 * product.depth);
  if (samples.size() < lines) samples.resize(lines);
  // Eight samples are half of a wide vector.
  const auto compute = wide && block.rows > 8 ? avx512::few_rows_of_transposed : avx2::few_rows_of_transposed;
  compute(block, product.depth, samples[0].of);
}

}  // namespace lockstep::sim::blas
