// Numbers that decide in which order sums are made. The bits of results follow from these, so there is one set of them, for a GPU and for
// the virtual GPU. Where they were measured is said as in simulator/gpu/backend/tuning.h, and on that machine.
#pragma once

#include <cstdint>

namespace lockstep::sum_order {

// Rows whose column sums are one partial sum, and the most partial sums. Not measured: chunks for many cores, few partial sums beside the
// rows.
inline constexpr std::int64_t kChunkRows = 128, kMostChunks = 512;
// Of such a chunk, rows that batch normalisation sums in registers before it adds to memory. Of two matrices both have to fit into a
// first-level cache, so there are fewer where rows are long. Measured on mobilenet-v2-96 with 16 and 4: moments 3619, 4961.
inline constexpr std::int64_t kRowsTogether = 16, kLongRow = 160, kLongRowsTogether = 4;
// A partial sum of a depthwise filter's gradient is over whole output rows of so many pixels or more; the most partial sums; pixels that
// are summed in registers. Measured on mobilenet-v2-96 when they were chosen, with an older kernel: 498 microseconds an operation instead
// of 738.
inline constexpr std::int64_t kChunkPixels = 64, kMostFilterChunks = 64;
inline constexpr int kFilterPixels = 4;
// Samples whose gradient of a fused convolution's filter is one partial sum. Measured on mnist and reuters with 4 and 16: 267, 277 and 441,
// 455.
inline constexpr std::int32_t kChunkSamples = 4;
// Lanes of the sum over channels in the direct convolution's input gradient, and channels that its other kernels make at once. Not
// measured: an AVX register; the direct kernels run only where cuDNN offers no plan.
inline constexpr int kConvolutionLanes = 8;
// Parts of a sum of squares. Not measured: parts for every core.
inline constexpr std::int64_t kSquareSums = 64;

}  // namespace lockstep::sum_order
