#include "skinny_product.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace lockstep::sim::blas {
namespace {

constexpr std::int64_t kVector = 8, kPair = 2 * kVector;  // kPair is also a line of the cache
// Sums of 6 rows of two vectors, or of 12 rows of one, with what is multiplied, fill the 16 registers.
constexpr std::int64_t kPairRows = 6, kSingleRows = 12;

// out (rows x columns) = left (rows x depth) * right (depth x columns), as much of it as registers hold.
struct Tile {
  const float* left;
  std::int64_t left_row, left_step;  // from one row, from one step of the depth, to the next
  const float* right;
  std::int64_t right_step;
  std::int64_t depth;
  float* out;
  std::int64_t out_ld;
  // What is needed later: a line is fetched at each of the first `fetches` steps.
  const float* ahead;
  std::int64_t ahead_step, fetches;
};

enum class Into { fresh, sum, memory };  // overwrite, add to what is there, overwrite past the cache

#pragma GCC push_options
#pragma GCC target("avx2,fma")

inline __m256i first_lanes(std::int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Ragged: of the last vector only `lanes` exist.
template <int Rows, int Vectors, bool Ragged, Into To>
void multiply(const Tile& tile, std::int64_t lanes) {
  const __m256i mask = first_lanes(lanes);
  const auto load = [&](const float* from, int v) {
    return Ragged && v == Vectors - 1 ? _mm256_maskload_ps(from + v * kVector, mask) : _mm256_loadu_ps(from + v * kVector);
  };
  __m256 sums[Rows][Vectors];
#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_setzero_ps();

  const float *left = tile.left, *right = tile.right, *ahead = tile.ahead;
  const auto step = [&] {
    __m256 across[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) across[v] = load(right, v);
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r) {
      const __m256 down = _mm256_broadcast_ss(left + r * tile.left_row);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm256_fmadd_ps(down, across[v], sums[r][v]);
    }
    left += tile.left_step;
    right += tile.right_step;
  };
  // Four steps a turn: the processor foresees the end of a short loop.
  std::int64_t d = 0;
#pragma GCC unroll 4
  for (; d < tile.fetches; ++d) {
    __builtin_prefetch(ahead, 0, 2);  // into the second level: in the first it would push out what is in use
    ahead += tile.ahead_step;
    step();
  }
#pragma GCC unroll 4
  for (; d < tile.depth; ++d) step();

#pragma GCC unroll 12
  for (int r = 0; r < Rows; ++r) {
    float* const row = tile.out + r * tile.out_ld;
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      const __m256 value = To == Into::sum ? _mm256_add_ps(load(row, v), sums[r][v]) : sums[r][v];
      if (Ragged && v == Vectors - 1) {
        _mm256_maskstore_ps(row + v * kVector, mask, value);
      } else if (To == Into::memory) {
        _mm256_stream_ps(row + v * kVector, value);
      } else {
        _mm256_storeu_ps(row + v * kVector, value);
      }
    }
  }
}

// Rows in tiles of about the same height: sixteen are 5, 5 and 6, not 6, 6 and 4. Divides once, not for each tile.
struct Heights {
  std::int64_t tiles, least, lower;  // how many tiles; the first `lower` of them have `least` rows, the others one more

  Heights(std::int64_t rows, std::int64_t columns) {
    const std::int64_t most = columns > kVector ? kPairRows : kSingleRows;
    tiles = (rows + most - 1) / most;
    least = rows / tiles;
    lower = tiles - (rows - least * tiles);
  }
  std::int64_t begin(std::int64_t tile) const { return tile * least + std::max<std::int64_t>(0, tile - lower); }
  std::int64_t of(std::int64_t tile) const { return tile < lower ? least : least + 1; }
};

// to (8 x 8) = from^T, or is added to.
inline void turn_block(const float* from, std::int64_t from_ld, float* to, std::int64_t to_ld, bool add) {
  __m256 a[kVector], b[kVector];
#pragma GCC unroll 8
  for (int i = 0; i < kVector; ++i) a[i] = _mm256_loadu_ps(from + i * from_ld);
#pragma GCC unroll 4
  for (int i = 0; i < kVector; i += 2) {
    b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < kVector; i += 4) {
    a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
    a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
    a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
    a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kVector; ++i) {
    const __m256 row = i < 4 ? _mm256_permute2f128_ps(a[i % 4], a[i % 4 + 4], 0x20) : _mm256_permute2f128_ps(a[i % 4], a[i % 4 + 4], 0x31);
    float* const out = to + i * to_ld;
    _mm256_storeu_ps(out, add ? _mm256_add_ps(_mm256_loadu_ps(out), row) : row);
  }
}

#pragma GCC pop_options

// to (columns x rows) = from^T, or is added to.
void turn(const float* from, std::int64_t from_ld, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_ld, bool add) {
  for (std::int64_t i = 0; i < rows; i += kVector) {
    for (std::int64_t j = 0; j < columns; j += kVector) {
      if (i + kVector <= rows && j + kVector <= columns) {
        turn_block(from + i * from_ld + j, from_ld, to + j * to_ld + i, to_ld, add);
        continue;
      }
      for (std::int64_t c = j; c < std::min(j + kVector, columns); ++c) {
        for (std::int64_t r = i; r < std::min(i + kVector, rows); ++r) {
          float& out = to[c * to_ld + r];
          out = add ? out + from[r * from_ld + c] : from[r * from_ld + c];
        }
      }
    }
  }
}

// Tiles by their number of rows, from 1.
template <int Vectors, bool Ragged, Into To, std::size_t... R>
constexpr auto tiles_by_rows(std::index_sequence<R...>) {
  return std::array<void (*)(const Tile&, std::int64_t), sizeof...(R)>{multiply<static_cast<int>(R) + 1, Vectors, Ragged, To>...};
}

template <Into To>
void multiply_tile(const Tile& tile, std::int64_t rows, std::int64_t columns) {
  constexpr std::make_index_sequence<kPairRows> kPairHeights;
  constexpr std::make_index_sequence<kSingleRows> kSingleHeights;
  static constexpr auto kPairs = tiles_by_rows<2, false, To>(kPairHeights);
  const auto at = static_cast<std::size_t>(rows - 1);
  if (columns == kPair) return kPairs[at](tile, kVector);
  // Less than a line is never stored past the cache.
  constexpr Into kPart = To == Into::memory ? Into::fresh : To;
  static constexpr auto kRaggedPairs = tiles_by_rows<2, true, kPart>(kPairHeights);
  static constexpr auto kSingles = tiles_by_rows<1, false, kPart>(kSingleHeights);
  static constexpr auto kRaggedSingles = tiles_by_rows<1, true, kPart>(kSingleHeights);
  if (columns > kVector) return kRaggedPairs[at](tile, columns - kVector);
  if (columns == kVector) return kSingles[at](tile, kVector);
  kRaggedSingles[at](tile, columns);
}

void multiply_tile(Into to, const Tile& tile, std::int64_t rows, std::int64_t columns) {
  switch (to) {
    case Into::fresh:
      return multiply_tile<Into::fresh>(tile, rows, columns);
    case Into::sum:
      return multiply_tile<Into::sum>(tile, rows, columns);
    case Into::memory:
      return multiply_tile<Into::memory>(tile, rows, columns);
  }
}

// y = x w. A panel is as many columns of w as a tile has, a block of the depth long; the second-level cache holds it while all rows of x
// meet it, and meanwhile they fetch the next panel, to the right or at the start of the next block.
void few_rows(const SkinnyBlock& at, std::int64_t depth) {
  constexpr std::int64_t kBlock = 128;
  const std::int64_t ragged = at.cols % kPair;
  const Heights whole(at.rows, kPair), narrow(at.rows, ragged > 0 ? ragged : kPair);
  for (std::int64_t d = 0; d < depth; d += kBlock) {
    const Into to = d > 0 || at.add ? Into::sum : Into::fresh;
    const std::int64_t steps = std::min(kBlock, depth - d);
    for (std::int64_t j = 0; j < at.cols; j += kPair) {
      const std::int64_t columns = std::min(kPair, at.cols - j);
      const float* const panel = at.right + d * at.right_ld + j;
      const bool last = j + kPair >= at.cols;
      // Where rows are not whole lines, the line in which the next panel ends is the one that this one has not touched.
      const float* const next = (last ? at.right + (d + steps) * at.right_ld : panel + kPair) + kPair - 1;
      const std::int64_t fetches = last ? std::min(steps, depth - d - steps) : steps;
      const Heights& heights = columns == kPair ? whole : narrow;
      const std::int64_t each = fetches / heights.tiles;
      for (std::int64_t t = 0; t < heights.tiles; ++t) {
        const std::int64_t i = heights.begin(t), from = each * t;
        multiply_tile(to,
                      {at.left + i * at.left_ld + d, at.left_ld, 1, panel, at.right_ld, steps, at.out + i * at.out_ld + j, at.out_ld,
                       next + from * at.right_ld, at.right_ld, t + 1 == heights.tiles ? fetches - from : each},
                      heights.of(t), columns);
      }
    }
  }
}

// dx = dy w^T, by way of dx^T = w dy^T with the samples side by side, sixteen at a time. Lanes without a sample are computed and dropped.
void few_rows_of_transposed(const SkinnyBlock& at, std::int64_t depth) {
  struct alignas(64) Line {
    float of[kPair];
  };
  constexpr std::int64_t kTurned = 24, kAhead = 12;  // columns that are turned back together; columns between use and fetching
  thread_local std::vector<Line> samples;
  const std::int64_t panels = (at.rows + kPair - 1) / kPair;
  samples.resize(std::max(samples.size(), static_cast<std::size_t>(panels * depth)));
  const auto panel = [&](std::int64_t p) { return samples[static_cast<std::size_t>(p * depth)].of; };
  const auto width = [&](std::int64_t p) { return std::min(kPair, at.rows - p * kPair); };
  for (std::int64_t p = 0; p < panels; ++p) turn(at.left + p * kPair * at.left_ld, at.left_ld, width(p), depth, panel(p), kPair, false);

  Line sums[kTurned];
  const Heights pairs(kTurned, kPair), singles(kTurned, kVector);
  for (std::int64_t j = 0; j < at.cols; j += kTurned) {
    const std::int64_t turned = std::min(kTurned, at.cols - j);
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t lanes = width(p) > kVector ? kPair : kVector;
      const Heights heights = turned < kTurned ? Heights(turned, lanes) : lanes > kVector ? pairs : singles;
      for (std::int64_t t = 0; t < heights.tiles; ++t) {
        const std::int64_t i = heights.begin(t), column = j + i;
        // As many lines as a tile reads, from where they lie if there are no gaps between columns.
        const bool fetch = p == 0 && column + kAhead + kPairRows <= at.cols;
        multiply_tile<Into::fresh>({at.right + column * at.right_ld, at.right_ld, 1, panel(p), kPair, depth, sums[i].of, kPair,
                                    at.right + (fetch ? column + kAhead : column) * at.right_ld, heights.of(t), fetch ? depth : 0},
                                   heights.of(t), lanes);
      }
      turn(sums[0].of, kPair, turned, width(p), at.out + p * kPair * at.out_ld + j, at.out_ld, at.add);
    }
  }
}

// dw = x^T dy: every element is complete when it is stored.
void little_depth(const SkinnyBlock& at, std::int64_t depth) {
  constexpr std::uintptr_t kLine = 64;
  const bool whole_lines = reinterpret_cast<std::uintptr_t>(at.out) % kLine == 0 && at.out_ld % kPair == 0;
  const Into to = at.add ? Into::sum : at.leaving && whole_lines ? Into::memory : Into::fresh;
  for (std::int64_t i = 0; i < at.rows; i += kPairRows) {
    const std::int64_t rows = std::min(kPairRows, at.rows - i);
    for (std::int64_t j = 0; j < at.cols; j += kPair) {
      const std::int64_t columns = std::min(kPair, at.cols - j);
      // The next line of every row of x, once.
      const bool fetch = j == 0 && i + kPair < at.rows;
      multiply_tile(to,
                    {at.left + i, 1, at.left_ld, at.right + j, at.right_ld, depth, at.out + i * at.out_ld + j, at.out_ld,
                     at.left + i + (fetch ? kPair : 0), at.left_ld, fetch ? depth : 0},
                    rows, columns);
    }
  }
  if (to == Into::memory) _mm_sfence();  // before anyone is told that it is done
}

}  // namespace

bool is_skinny(const Product& product, Scalars scalars) {
  static const bool capable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!capable || scalars.alpha != 1.0F || (scalars.beta != 0.0F && scalars.beta != 1.0F)) return false;
  // A megabyte of weights: less stays in a cache, whatever the number of replicas, and a general product does as well.
  constexpr std::int64_t kLarge = 1 << 18;
  if (product.left_transposed) {
    return !product.right_transposed && product.depth <= 64 && product.cols <= 128 && product.cols % kPair == 0 &&
           product.rows * product.cols >= kLarge;
  }
  if (product.right_transposed) {
    return product.rows >= 2 && product.rows <= product.depth / 2 && product.depth >= 64 && product.depth <= 128 &&
           product.cols * product.depth >= kLarge;
  }
  return product.rows >= 2 && product.rows <= 32;
}

void compute_skinny(const Product& product, const SkinnyBlock& block) {
  if (block.rows == 0 || block.cols == 0) return;
  if (product.left_transposed) return little_depth(block, product.depth);
  if (product.right_transposed) return few_rows_of_transposed(block, product.depth);
  few_rows(block, product.depth);
}

}  // namespace lockstep::sim::blas
