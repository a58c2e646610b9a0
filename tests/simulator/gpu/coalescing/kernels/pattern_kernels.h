// Kernels whose sectors are known without counting.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <backend/view.h>

namespace lockstep::testing {

// Thread i reads element i * stride + offset, and writes element i.
__global__ void read_strided(View<const float> x, View<float> y, std::int64_t stride, std::int64_t offset);
// The same, the other way round.
__global__ void write_strided(View<const float> x, View<float> y, std::int64_t stride, std::int64_t offset);
__global__ void read_halves(View<const std::uint16_t> x, View<float> y);
__global__ void copy_doubles(View<const double> x, View<double> y);
// Four floats a thread, as one access.
__global__ void copy_wide(View<const float> x, View<float> y);
// Thread i reads x[permutation[i]].
__global__ void gather(View<const std::int32_t> permutation, View<const float> x, View<float> y);
// y[i] = sum of the first counts[i] elements of column i of x, which has y.count columns: neighbours leave the loop at different times.
__global__ void uneven_sums(View<const std::int32_t> counts, View<const float> x, View<float> y);
// The same within a loop, so that those who left wait for the next turn: y[i] = sum over `turns` of what uneven_sums says.
__global__ void uneven_turns(View<const std::int32_t> counts, View<const float> x, View<float> y, std::int64_t turns);
// Goes through all of `owners`; where it meets its own number it reads x there. y[i] = the sum of that.
__global__ void rare_branch(View<const std::int32_t> owners, View<const float> x, View<float> y);
// Through shared memory, a barrier and a stack, none of which is global memory: y is x of each block turned round.
__global__ void reverse_blocks(View<const float> x, View<float> y);
// Only every second thread reads, the others write zero.
__global__ void read_by_half(View<const float> x, View<float> y);
// y(columns, rows) = x(rows, columns) turned, without care.
__global__ void careless_transpose(View<const float> x, View<float> y, std::int64_t rows, std::int64_t columns);

}  // namespace lockstep::testing
