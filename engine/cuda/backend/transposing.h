// CUDA twin of simulator/gpu/backend/transposing.h: tiles of 32 x 32 elements change hands in shared memory. A row of the tile has one
// element more, so that a column's lie in different banks.
#pragma once

#include <cstdint>

#include <backend/kernel_support.h>

namespace lockstep {

template <typename Read, typename Write>
__device__ inline void each_transposed(std::int64_t batch, std::int64_t rows, std::int64_t columns, Read read, Write write) {
  constexpr std::int64_t kTile = 32;
  __shared__ float tile[kTile][kTile + 1];
  const std::int64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  each_block(batch * down * across, [=](std::int64_t index) {
    const std::int64_t matrix = index / (down * across);
    const std::int64_t row = index / across % down * kTile, column = index % across * kTile;
    each_thread(kTile * kTile, [=](std::int64_t i) {
      const std::int64_t r = i / kTile, c = i % kTile;
      if (row + r < rows && column + c < columns) tile[r][c] = read(matrix, row + r, column + c);
    });
    __syncthreads();
    each_thread(kTile * kTile, [=](std::int64_t i) {
      const std::int64_t c = i / kTile, r = i % kTile;
      if (row + r < rows && column + c < columns) write(matrix, column + c, row + r, tile[r][c]);
    });
    __syncthreads();
  });
}

}  // namespace lockstep
