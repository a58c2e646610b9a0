// What every kernel includes: views, loops over the grid, barriers and reductions of a fixed order.
//
// Each loop takes its body as a lambda of a std::int64_t index. On the CPU in fast mode a loop is contiguous, and a pragma states
// that its iterations do not depend on each other, so bodies vectorise; in faithful mode it strides over the threads as on a GPU. The CUDA
// twin of this header has the same names.
#pragma once

#include <cstdint>
#include <limits>

#include <backend/block_functions.h>
#include <backend/context.h>
#include <backend/host_device.h>
#include <backend/qualifiers.h>
#include <backend/view.h>

namespace lockstep {

namespace sim {

struct Share {
  std::int64_t first, last;
};

// The contiguous share of this block; shares begin at multiples of `grain`, so that blocks rarely meet in a cache line.
inline Share share_of_block(std::int64_t n, std::int64_t grain) {
  const KernelContext& here = kernel_context;
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t first = grains * here.block / here.blocks * grain;
  const std::int64_t last = grains * (here.block + 1) / here.blocks * grain;
  return {first, last < n ? last : n};
}

// The loop that vectorises. It works on a local copy of the body, which stores through the views cannot change.
template <typename Body>
[[gnu::always_inline]] inline void each_contiguous(std::int64_t first, std::int64_t last, const Body& f) {
  const Body body = f;
#pragma GCC ivdep
  for (std::int64_t i = first; i < last; ++i) body(i);
}

}  // namespace sim

// Elements 0..n-1, over all threads of the grid.
template <typename Body>
[[gnu::always_inline]] inline void each_in_grid(std::int64_t n, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  if (here.threads == nullptr) {
    const sim::Share mine = sim::share_of_block(n, 64);
    sim::each_contiguous(mine.first, mine.last, f);
  } else {
    const std::int64_t stride = here.blocks * here.block_threads;
    for (std::int64_t i = here.block * here.block_threads + here.thread; i < n; i += stride) f(i);
  }
}

// f(first, last) once for each thread of the grid, with its contiguous share of 0..n-1: for work that has a price of its own for each
// share, such as reading through a list. The shares depend on grid and block, so the result must not depend on where they are cut.
template <typename Body>
[[gnu::always_inline]] inline void each_share(std::int64_t n, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  if (here.threads == nullptr) {
    const sim::Share mine = sim::share_of_block(n, 64);
    f(mine.first, mine.last);
  } else {
    const std::int64_t threads = here.blocks * here.block_threads;
    const std::int64_t me = here.block * here.block_threads + here.thread;
    f(n * me / threads, n * (me + 1) / threads);
  }
}

// f(first, last) once for each block, with the shares that each_share gives its threads, which lie side by side.
template <typename Body>
[[gnu::always_inline]] inline void each_share_of_blocks(std::int64_t n, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  if (here.threads == nullptr) {
    const sim::Share mine = sim::share_of_block(n, 64);
    f(mine.first, mine.last);
  } else {
    f(n * here.block / here.blocks, n * (here.block + 1) / here.blocks);
  }
}

// Elements of a matrix: f(at_row(row), column), over all threads of the grid, neighbouring threads at neighbouring elements however short
// the rows are. What at_row returns must not depend on the column.
template <typename AtRow, typename Body>
[[gnu::always_inline]] inline void each_in_rows(std::int64_t rows, std::int64_t columns, const AtRow& at_row, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  if (here.threads == nullptr) {
    const sim::Share mine = sim::share_of_block(rows, 1);
    for (std::int64_t row = mine.first; row < mine.last; ++row) {
      const auto at = at_row(row);
      sim::each_contiguous(0, columns, [=](std::int64_t column) { f(at, column); });
    }
  } else {
    const std::int64_t stride = here.blocks * here.block_threads;
    for (std::int64_t i = here.block * here.block_threads + here.thread; i < rows * columns; i += stride)
      f(at_row(i / columns), i % columns);
  }
}

// Rows 0..n-1, each the work of one whole block.
template <typename Body>
[[gnu::always_inline]] inline void each_block(std::int64_t n, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  const bool fast = here.threads == nullptr;
  const sim::Share mine = fast ? sim::share_of_block(n, 1) : sim::Share{here.block, n};
  const std::int64_t stride = fast ? 1 : here.blocks;
  for (std::int64_t i = mine.first; i < mine.last; i += stride) f(i);
}

// Columns 0..n-1, over the threads of one block.
template <typename Body>
[[gnu::always_inline]] inline void each_thread(std::int64_t n, const Body& f) {
  const sim::KernelContext& here = sim::kernel_context;
  if (here.threads == nullptr) {
    sim::each_contiguous(0, n, f);
  } else {
    const std::int64_t stride = here.block_threads;
    for (std::int64_t i = here.thread; i < n; i += stride) f(i);
  }
}

namespace sim {

struct Sum {
  template <typename T>
  static constexpr T kStart = T{0};
  template <typename T>
  static T combine(T a, T b) {
    return a + b;
  }
};

// A NaN never wins, as in fmaxf.
struct Max {
  template <typename T>
  static constexpr T kStart = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  template <typename T>
  static T combine(T a, T b) {
    return b > a ? b : a;
  }
};

// Lane l holds f(l), f(l + Lanes), ... in this order; then the upper half of the lanes joins the lower half until one is left.
template <typename Fold, int Lanes, typename T>
[[gnu::always_inline]] inline T join_lanes(T (&lanes)[Lanes]) {
  for (int half = Lanes / 2; half > 0; half /= 2) {
#pragma GCC ivdep
    for (int l = 0; l < half; ++l) lanes[l] = Fold::combine(lanes[l], lanes[l + half]);
  }
  return lanes[0];
}

template <typename Fold, int Lanes, typename T, typename Value>
T fold_faithful(std::int64_t n, const Value& f, const char* file, int line) {
  static thread_local T shared[Lanes];
  const KernelContext& here = kernel_context;
  for (std::int64_t l = here.thread; l < Lanes; l += here.block_threads) {
    T lane = Fold::template kStart<T>;
    for (std::int64_t i = l; i < n; i += Lanes) lane = Fold::combine(lane, f(i));
    shared[l] = lane;
  }
  here.threads->barrier(file, line);
  T lanes[Lanes];
  for (int l = 0; l < Lanes; ++l) lanes[l] = shared[l];
  here.threads->barrier(file, line);
  return join_lanes<Fold, Lanes>(lanes);
}

template <typename Fold, int Lanes, typename Value>
[[gnu::always_inline]] inline auto fold_lanes(std::int64_t n, const Value& f, const char* file, int line) {
  static_assert(Lanes > 0 && (Lanes & (Lanes - 1)) == 0, "the number of lanes is a power of two");
  using T = decltype(f(std::int64_t{0}));
  if (kernel_context.threads != nullptr) return fold_faithful<Fold, Lanes, T>(n, f, file, line);
  const Value value = f;
  T lanes[Lanes];
  for (int l = 0; l < Lanes; ++l) lanes[l] = Fold::template kStart<T>;
  const std::int64_t whole = n - n % Lanes;
  for (std::int64_t i = 0; i < whole; i += Lanes) {
#pragma GCC ivdep
    for (int l = 0; l < Lanes; ++l) lanes[l] = Fold::combine(lanes[l], value(i + l));
  }
  for (std::int64_t i = whole; i < n; ++i) lanes[i - whole] = Fold::combine(lanes[i - whole], value(i));
  return join_lanes<Fold, Lanes>(lanes);
}

}  // namespace sim

// Sum of f(0), ..., f(n-1) in an order that n and Lanes alone decide, whatever the block. Every thread of the block calls
// it and gets the result; f must not write.
template <int Lanes = 32, typename Value>
[[gnu::always_inline]] inline auto lane_sum(std::int64_t n, const Value& f, const char* file = __builtin_FILE(),
                                            int line = __builtin_LINE()) {
  return sim::fold_lanes<sim::Sum, Lanes>(n, f, file, line);
}

// Largest of f(0), ..., f(n-1); -infinity (or the lowest integer) for n = 0.
template <int Lanes = 32, typename Value>
[[gnu::always_inline]] inline auto lane_max(std::int64_t n, const Value& f, const char* file = __builtin_FILE(),
                                            int line = __builtin_LINE()) {
  return sim::fold_lanes<sim::Max, Lanes>(n, f, file, line);
}

}  // namespace lockstep
