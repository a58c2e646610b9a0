// CUDA twin of simulator/gpu/backend/kernel_support.h: the loops kernels are written with. On a GPU they are the usual strided
// ones; a kernel made of them is right for every grid and block, one thread included.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>

#include <backend/cost.h>
#include <backend/view.h>

namespace lockstep {

// f(i) for every i below n, spread over all threads of the grid.
template <typename Function>
__device__ inline void each_in_grid(std::int64_t n, Function f) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) f(i);
}

// f(first, last) once for each thread of the grid, with its contiguous share of 0..n-1.
template <typename Function>
__device__ inline void each_share(std::int64_t n, Function f) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t me = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  f(n * me / threads, n * (me + 1) / threads);
}

// f(first, last) once for each block, with the shares that each_share gives its threads, which lie side by side.
template <typename Function>
__device__ inline void each_share_of_blocks(std::int64_t n, Function f) {
  f(n * blockIdx.x / gridDim.x, n * (blockIdx.x + 1) / gridDim.x);
}

// f(at_row(row), column) for every element of a matrix, spread over all threads of the grid.
template <typename AtRow, typename Function>
__device__ inline void each_in_rows(std::int64_t rows, std::int64_t columns, AtRow at_row, Function f) {
  each_in_grid(rows * columns, [=](std::int64_t i) { f(at_row(i / columns), i % columns); });
}

// f(i) for every i below n, spread over blocks; all threads of a block see the same i.
template <typename Function>
__device__ inline void each_block(std::int64_t n, Function f) {
  for (std::int64_t i = blockIdx.x; i < n; i += gridDim.x) f(i);
}

// f(i) for every i below n, spread over the threads of this block.
template <typename Function>
__device__ inline void each_thread(std::int64_t n, Function f) {
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
}

namespace detail {

template <typename Value>
inline constexpr Value kLowest = std::numeric_limits<Value>::has_infinity ? -std::numeric_limits<Value>::infinity()
                                                                          : std::numeric_limits<Value>::lowest();

// Lane l takes elements l, l + Lanes, ... in order, then lanes are folded in halves: an order that depends on n and Lanes only,
// whatever the block. All threads of the block must come here, and all get the result.
template <int Lanes, typename Function, typename Combine>
__device__ inline auto fold_lanes(std::int64_t n, Function f, decltype(f(std::int64_t{})) start, Combine combine) {
  static_assert(Lanes > 0 && (Lanes & (Lanes - 1)) == 0, "lanes are folded in halves");
  using Value = decltype(f(std::int64_t{}));
  __shared__ Value lanes[Lanes];
  each_thread(Lanes, [=](std::int64_t lane) {
    Value value = start;
    for (std::int64_t i = lane; i < n; i += Lanes) value = combine(value, f(i));
    lanes[lane] = value;
  });
  __syncthreads();
  for (int half = Lanes / 2; half > 0; half /= 2) {
    each_thread(half, [=](std::int64_t lane) { lanes[lane] = combine(lanes[lane], lanes[lane + half]); });
    __syncthreads();
  }
  const Value result = lanes[0];
  __syncthreads();
  return result;
}

}  // namespace detail

// The sum of f(i) over i below n, in an order that depends on n and Lanes only.
template <int Lanes = 32, typename Function>
__device__ inline auto lane_sum(std::int64_t n, Function f) {
  using Value = decltype(f(std::int64_t{}));
  return detail::fold_lanes<Lanes>(n, f, Value{}, [](Value a, Value b) { return a + b; });
}

// The largest f(i); minus infinity (or the lowest integer) where n is 0. A NaN never wins, as in fmaxf.
template <int Lanes = 32, typename Function>
__device__ inline auto lane_max(std::int64_t n, Function f) {
  using Value = decltype(f(std::int64_t{}));
  return detail::fold_lanes<Lanes>(n, f, detail::kLowest<Value>, [](Value a, Value b) { return b > a ? b : a; });
}

}  // namespace lockstep
