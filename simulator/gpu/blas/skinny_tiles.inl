// The products of skinny_product.h for one instruction set: included once for each, into a namespace of its own, inside the region in which
// the compiler may use these instructions. What precedes it there:
//
//   Vector                   floats in a register and what is done with them
//   turn_block               turns 8 x 8 floats
//   kPairRows, kSingleRows   the rows of a tile of two vectors, of one
//   kForwardBlock            the depth at which a forward product's sums go to memory and the next block begins
//   kTurned, kAhead          columns of an input gradient that are turned back together, and between use and fetching
//   kSpread                  panels of a weight gradient over which the fetching of samples is spread
//
// Nothing of the standard library is called here: of an inline function that several files have, the linker keeps one, and if that were the
// one compiled here, it would not run on a processor without these instructions.

constexpr std::int64_t kVector = Vector::kLanes, kPair = 2 * kVector;
constexpr std::int64_t kLine = 16;  // floats in a line of the cache
constexpr std::int64_t kPairLines = kPair / kLine;

constexpr std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// What is needed later: `count` pairs of vectors, each given by its last element.
struct Fetch {
  const float* from = nullptr;
  std::int64_t step = 0, count = 0;
};

// out (rows x columns) = left (rows x depth) * right (depth x columns), as much of it as registers hold.
struct Tile {
  const float* left;
  std::int64_t left_row, left_step;  // from one row, from one step of the depth, to the next
  const float* right;
  std::int64_t right_step;
  std::int64_t depth;
  float* out;
  std::int64_t out_ld;
  Into to;
  Fetch ahead, place;  // to be read later; where a result will be
};

// Ragged: of the last vector only `lanes` exist.
template <int Rows, int Vectors, bool Ragged>
void multiply(const Tile& tile, std::int64_t lanes) {
  const Vector::Mask mask = Vector::first_lanes(lanes);
  const auto load = [&](const float* from, int v) {
    return Ragged && v == Vectors - 1 ? Vector::load(from + v * kVector, mask) : Vector::load(from + v * kVector);
  };
  Vector::Floats sums[Rows][Vectors];
#pragma GCC unroll 24
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[r][v] = Vector::zero();

  const float *left = tile.left, *right = tile.right;
  const auto step = [&]() __attribute__((always_inline)) {
    Vector::Floats across[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) across[v] = load(right, v);
#pragma GCC unroll 24
    for (int r = 0; r < Rows; ++r) {
      const Vector::Floats down = Vector::broadcast(left + r * tile.left_row);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = Vector::multiply_add(down, across[v], sums[r][v]);
    }
    left += tile.left_step;
    right += tile.right_step;
  };
  // (Always inlined: if the sums left their registers, a product would take three times as long.)
  // As many steps as a pair has lines, and with each of them one line fetched: more at once would wait for each other.
  const float *ahead = tile.ahead.from, *place = tile.place.from;
  const auto turn = [&](bool fetch_ahead, bool fetch_place) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (std::int64_t line = 0; line < kPairLines; ++line) {
      // Ahead goes to the second level: in the first it would evict what is in use. A place is used soon, and no other core uses it until
      // then.
      if (fetch_ahead) __builtin_prefetch(ahead - line * kLine, 0, 2);
      if (fetch_place) __builtin_prefetch(place - line * kLine, 1, 3);
      step();
    }
    if (fetch_ahead) ahead += tile.ahead.step;
    if (fetch_place) place += tile.place.step;
  };
  // The branch predictor knows the end of a short loop; so turns and steps are unrolled.
  std::int64_t t = 0;
#pragma GCC unroll 2
  for (const std::int64_t both = least(tile.ahead.count, tile.place.count); t < both; ++t) turn(true, true);
#pragma GCC unroll 2
  for (; t < tile.ahead.count; ++t) turn(true, false);
#pragma GCC unroll 2
  for (; t < tile.place.count; ++t) turn(false, true);
#pragma GCC unroll 4
  for (std::int64_t d = t * kPairLines; d < tile.depth; ++d) step();

  const auto finish = [&](auto&& store) __attribute__((always_inline)) {
#pragma GCC unroll 24
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) store(tile.out + r * tile.out_ld, v, sums[r][v]);
  };
  const auto store = [&](float* row, int v, Vector::Floats value) __attribute__((always_inline)) {
    if (Ragged && v == Vectors - 1) {
      Vector::store(row + v * kVector, mask, value);
    } else {
      Vector::store(row + v * kVector, value);
    }
  };
  if (tile.to == Into::sum) {
    finish([&](float* row, int v, Vector::Floats value) { store(row, v, Vector::add(load(row, v), value)); });
  } else {
    finish(store);
  }
}

// Rows in tiles of about the same height: sixteen are 5, 5 and 6, not 6, 6 and 4. Divides once, not for each tile.
struct Heights {
  std::int64_t tiles, low, lower;  // how many tiles; the first `lower` of them have `low` rows, the others one more

  Heights(std::int64_t rows, std::int64_t columns) {
    const std::int64_t most = columns > kVector ? kPairRows : kSingleRows;
    tiles = (rows + most - 1) / most;
    low = rows / tiles;
    lower = tiles - (rows - low * tiles);
  }
  std::int64_t begin(std::int64_t tile) const { return tile * low + (tile > lower ? tile - lower : 0); }
  std::int64_t of(std::int64_t tile) const { return tile < lower ? low : low + 1; }
};

// Tiles by their number of rows, from 1.
template <int Vectors, bool Ragged, class Heights>
struct ByRows;
template <int Vectors, bool Ragged, std::size_t... R>
struct ByRows<Vectors, Ragged, std::index_sequence<R...>> {
  static constexpr void (*kTiles[])(const Tile&, std::int64_t) = {multiply<static_cast<int>(R) + 1, Vectors, Ragged>...};
};

inline void multiply_tile(const Tile& tile, std::int64_t rows, std::int64_t columns) {
  using PairHeights = std::make_index_sequence<kPairRows>;
  using SingleHeights = std::make_index_sequence<kSingleRows>;
  if (columns == kPair) return ByRows<2, false, PairHeights>::kTiles[rows - 1](tile, kVector);
  if (columns > kVector) return ByRows<2, true, PairHeights>::kTiles[rows - 1](tile, columns - kVector);
  if (columns == kVector) return ByRows<1, false, SingleHeights>::kTiles[rows - 1](tile, kVector);
  ByRows<1, true, SingleHeights>::kTiles[rows - 1](tile, columns);
}

// to (columns x rows) = from^T, or is added to.
inline void turn(const float* from, std::int64_t from_ld, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_ld,
                 bool add) {
  constexpr std::int64_t kBlock = 8;
  for (std::int64_t i = 0; i < rows; i += kBlock) {
    for (std::int64_t j = 0; j < columns; j += kBlock) {
      if (i + kBlock <= rows && j + kBlock <= columns) {
        turn_block(from + i * from_ld + j, from_ld, to + j * to_ld + i, to_ld, add);
        continue;
      }
      for (std::int64_t c = j; c < least(j + kBlock, columns); ++c) {
        for (std::int64_t r = i; r < least(i + kBlock, rows); ++r) {
          float& out = to[c * to_ld + r];
          out = add ? out + from[r * from_ld + c] : from[r * from_ld + c];
        }
      }
    }
  }
}

// y = x w. A panel is as many columns of w as a tile has, a block of the depth long; the second-level cache holds it while all rows of x
// are multiplied with it. At the same time the next panel is prefetched, the one to the right or at the start of the next block.
inline void few_rows(const SkinnyBlock& at, std::int64_t depth) {
  const std::int64_t ragged = at.cols % kPair;
  const Heights whole(at.rows, kPair), narrow(at.rows, ragged > 0 ? ragged : kPair);
  for (std::int64_t d = 0; d < depth; d += kForwardBlock) {
    const Into to = d > 0 || at.add ? Into::sum : Into::fresh;
    const std::int64_t steps = least(kForwardBlock, depth - d), turns = steps / kPairLines;
    for (std::int64_t j = 0; j < at.cols; j += kPair) {
      const std::int64_t columns = least(kPair, at.cols - j);
      const float* const panel = at.right + d * at.right_ld + j;
      const bool last = j + kPair >= at.cols;
      // Where rows are not whole lines, the line in which the next panel ends is the one that this one has not touched.
      const float* const next = (last ? at.right + (d + steps) * at.right_ld : panel + kPair) + kPair - 1;
      const std::int64_t fetches = last ? least(steps, depth - d - steps) : steps;
      const Heights& heights = columns == kPair ? whole : narrow;
      const std::int64_t each = fetches / heights.tiles;
      for (std::int64_t t = 0; t < heights.tiles; ++t) {
        const std::int64_t i = heights.begin(t), from = each * t, rows = heights.of(t);
        const Fetch weights{next + from * at.right_ld, at.right_ld, least(turns, t + 1 == heights.tiles ? fetches - from : each)};
        multiply_tile({at.left + i * at.left_ld + d,
                       at.left_ld,
                       1,
                       panel,
                       at.right_ld,
                       steps,
                       at.out + i * at.out_ld + j,
                       at.out_ld,
                       to,
                       weights,
                       {}},
                      rows, columns);
      }
    }
  }
}

// dx = dy w^T, by way of dx^T = w dy^T with the samples side by side, a pair of vectors at a time. Lanes without a sample are computed and
// dropped. `samples` has room for them, turned, in whole pairs of vectors.
inline void few_rows_of_transposed(const SkinnyBlock& at, std::int64_t depth, float* samples) {
  const std::int64_t panels = (at.rows + kPair - 1) / kPair;
  const auto panel = [&](std::int64_t p) { return samples + p * depth * kPair; };
  const auto width = [&](std::int64_t p) { return least(kPair, at.rows - p * kPair); };
  for (std::int64_t p = 0; p < panels; ++p) turn(at.left + p * kPair * at.left_ld, at.left_ld, width(p), depth, panel(p), kPair, false);

  alignas(64) float sums[kTurned * kPair];
  const Heights pairs(kTurned, kPair), singles(kTurned, kVector);
  for (std::int64_t j = 0; j < at.cols; j += kTurned) {
    const std::int64_t turned = least(kTurned, at.cols - j);
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t lanes = width(p) > kVector ? kPair : kVector;
      const Heights heights = turned < kTurned ? Heights(turned, lanes) : lanes > kVector ? pairs : singles;
      float* const out = at.out + p * kPair * at.out_ld + j;
      for (std::int64_t t = 0; t < heights.tiles; ++t) {
        const std::int64_t i = heights.begin(t), column = j + i, rows = heights.of(t);
        // As many lines as a tile reads, from where they lie if there are no gaps between columns.
        const bool more = p == 0 && column + kAhead + kSingleRows <= at.cols;
        const Fetch weights{at.right + (column + kAhead) * at.right_ld + kPair - 1, rows * kPairLines, more ? depth / kPairLines : 0};
        const Fetch place{out + t * kPair + kPair - 1, at.out_ld, t * kPair < turned ? least(width(p), depth / kPairLines) : 0};
        multiply_tile(
            {at.right + column * at.right_ld, at.right_ld, 1, panel(p), kPair, depth, sums + i * kPair, kPair, Into::fresh, weights, place},
            rows, lanes);
      }
      turn(sums, kPair, turned, width(p), out, at.out_ld, at.add);
    }
  }
}

// dw = x^T dy: every element is complete when it is stored.
inline void little_depth(const SkinnyBlock& at, std::int64_t depth) {
  const Into to = at.add ? Into::sum : Into::fresh;
  const std::int64_t panels = least(kSpread, (at.cols + kPair - 1) / kPair), share = (depth + panels - 1) / panels,
                     turns = depth / kPairLines;
  const std::int64_t height = at.cols > kVector ? kPairRows : kSingleRows;
  for (std::int64_t i = 0; i < at.rows; i += height) {
    const std::int64_t rows = least(height, at.rows - i);
    for (std::int64_t j = 0; j < at.cols; j += kPair) {
      const std::int64_t columns = least(kPair, at.cols - j);
      float* const out = at.out + i * at.out_ld + j;
      // The next pair of every row of x, some at each panel.
      const std::int64_t first = j / kPair * share;
      const bool more = first < depth && i + 2 * kPair <= at.rows;
      const Fetch samples{at.left + first * at.left_ld + i + 2 * kPair - 1, at.left_ld,
                          more ? least(least(share, depth - first), turns) : 0};
      // Where the next tile is added to, or overwritten: the other core had it last, and in a step of eight replicas an adding product
      // takes a fifth less time for it. For narrow vectors it costs more than it saves.
      const bool last = j + kPair >= at.cols;
      const float* const next = last ? at.out + (i + height) * at.out_ld : out + kPair;
      const std::int64_t further = last ? least(height, at.rows - i - height) : rows;
      const Fetch place{next + kPair - 1, at.out_ld, kPairLines == 1 || further < 0 ? 0 : least(further, turns)};
      multiply_tile({at.left + i, 1, at.left_ld, at.right + j, at.right_ld, depth, out, at.out_ld, to, samples, place}, rows, columns);
    }
  }
}
