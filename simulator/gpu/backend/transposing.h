// A loop over matrices whose rows become columns.
//
// On a CPU it writes row by row and reads where that is; on a GPU neighbours go through shared memory, so that both are side by side.
// The CUDA twin of this header has the same names.
#pragma once

#include <cstdint>

#include <backend/kernel_support.h>

namespace lockstep {

// write(matrix, column, row, read(matrix, row, column)) for all elements of `batch` matrices.
template <typename Read, typename Write>
[[gnu::always_inline]] inline void each_transposed(std::int64_t batch, std::int64_t rows, std::int64_t columns, const Read& read,
                                                   const Write& write) {
  each_block(batch * columns, [=](std::int64_t index) {
    const std::int64_t matrix = index / columns, column = index % columns;
    each_thread(rows, [=](std::int64_t row) { write(matrix, column, row, read(matrix, row, column)); });
  });
}

}  // namespace lockstep
