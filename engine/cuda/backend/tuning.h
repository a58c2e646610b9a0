// CUDA twin of simulator/gpu/backend/tuning.h: numbers that suit a GPU. None was measured on one yet; `./lockstep bench --profile` shows
// the time of each kernel, and `--warps` its transactions, which were counted.
#pragma once

#include <cstddef>
#include <cstdint>

// No result depends on these, except where they choose a library's algorithm; engine/kernels/sum_order.h has those that results depend on.
namespace lockstep::tuning {

// Floats that a thread works on at once (backend/lanes.h), and for what is left over of them. Not measured: one 16-byte load, the widest
// there is. Counted: neighbours' loads of it fill their sectors.
inline constexpr int kLanes = 4, kFewLanes = 4;
// The same for kernels that keep many sums at once, and how many such vectors a thread may hold. Not measured: with more than 64 registers
// of sums fewer threads fit on a multiprocessor.
inline constexpr int kRegisterLanes = 4, kRegisters = 16;

// Pooled windows of a row that one thread of a fused convolution makes. Not measured: threads are many, and neighbours read and write side
// by side.
inline constexpr std::int32_t kWindowsTogether = 1;
// Filters of up to so many taps (height x width x channels) run in the fused kernel; larger ones are faster in cuDNN, with a pooling behind
// it. Not measured: the virtual GPU's.
inline constexpr std::int64_t kMostTaps = 256;

// Elements of a 1 x 1 filter from which on its convolution is a matrix product rather than a cuDNN plan: for what reads the filter, and for
// its gradient. Not measured: the virtual GPU's, since a plan needs the filter transposed here too.
inline constexpr std::int64_t kLargeFilter = 65536, kLargeFilterGradient = 8192;

// Neighbouring channels that a thread of a depthwise convolution with any window makes. Not measured: the virtual GPU's.
inline constexpr int kDepthwiseTile = 16;
// Pixels of a row that a block of the 3 x 3 depthwise kernels makes, and how many of them at once. Not measured: four sums of four channels
// and their taps take some 40 registers.
inline constexpr std::int32_t kDepthwiseRun = 16, kDepthwisePixels = 4;

// Rows of a table that are fetched before they are needed. Not measured: none, since warps that wait give way to others.
inline constexpr std::int64_t kRowsAhead = 0;
// Threads among which an embedding's gradient shares the rows of the table: each reads all ids. Not measured: enough for all
// multiprocessors, few enough that ids are not read too often.
inline constexpr std::int64_t kEmbeddingGradientThreads = 1024;

// Elements that a block scales when gradients are clipped. Not measured: 16 for each thread.
inline constexpr std::int64_t kClipRun = 4096;
// A checksum is made in so many parts, unless it is of so few elements that one launch is faster. Not measured: a block for each
// multiprocessor and more.
inline constexpr std::int64_t kChecksumParts = 256, kSmallChecksum = 4096;

// Threads of a block, and the most blocks of a launch. Not measured: eight warps; enough blocks to fill the largest cards several times
// over, and the loops inside a kernel do the rest.
inline constexpr std::int64_t kBlockThreads = 256, kMostBlocks = 16384;

// The most workspace for a plan of cuBLASLt and of cuDNN. Not measured: it comes out of the replica's memory limit, and algorithms that
// want more are rarely faster.
inline constexpr std::uint64_t kMatmulWorkspace = std::uint64_t{8} << 20;
inline constexpr std::int64_t kConvolutionWorkspace = std::int64_t{256} << 20;

// Buffers for the rows of a sparse gradient have room for so many times the rows of the first batch. Not measured: batches of one data set
// use about as many.
inline constexpr std::int64_t kSparseRoom = 4;

}  // namespace lockstep::tuning
