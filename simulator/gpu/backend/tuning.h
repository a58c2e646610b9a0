// Numbers that suit the virtual GPU, that is a CPU: what each decides, and where it was measured. The CUDA twin has the same names.
//
// Measured means: `./lockstep bench --profile WORKLOAD` with two replicas on two cores of an AMD EPYC (Zen 4, AVX-512), microseconds of one
// core in a step, the least of three runs; on a quiet machine they differ by a few per cent.
#pragma once

#include <cstddef>
#include <cstdint>

// How work is cut. No result depends on these.
namespace lockstep::tuning {

// Floats that a thread works on at once (backend/lanes.h), and for what is left over of them. Measured on mobilenet-v2-96 with 16 and 8
// lanes: depthwise forward 5681, 6426; its filter's gradient 6953, 8133; moments of batch normalisation 3619, 4118.
inline constexpr int kLanes = 16, kFewLanes = 8;
// What a register holds and how many there are, for kernels that keep many sums at once. Not measured: properties of the instruction set.
#if defined(__AVX512F__)
inline constexpr int kRegisterLanes = 16, kRegisters = 32;
#else
inline constexpr int kRegisterLanes = 8, kRegisters = 16;
#endif

// Pooled windows of a row that one thread of a fused convolution makes. Measured on reuters with 1, 8 and 32: 672, 472, 464; on mnist 373,
// 318, 305.
inline constexpr std::int32_t kWindowsTogether = 8;
// Filters of up to so many taps (height x width x channels) run in the fused kernel; larger ones are left to cuDNN, with a pooling behind
// it. Measured on the filters of mnist (9 taps) and reuters (35 and 192) with 256 and 0: all operations 3342, 6059 and 2275, 2882. Where
// the border lies was not measured.
inline constexpr std::int64_t kMostTaps = 256;

// Elements of a 1 x 1 filter from which on its convolution is a matrix product rather than a cuDNN plan: for what reads the filter, and for
// its gradient. Measured on mobilenet-v2-96, convolutions, products and transposes together, with 1, 65536 and a billion: 52000, 59000,
// 63600; of the gradient with 1, 8192 and a billion: 56500, 59000, 60800. Products are the faster ones for all filters today; lower numbers
// would change the bits of trained weights, so these are still the first ones.
inline constexpr std::int64_t kLargeFilter = 65536, kLargeFilterGradient = 8192;

// Neighbouring channels that a thread of a depthwise convolution with any window makes. Not measured: one AVX-512 register, or two of AVX2.
inline constexpr int kDepthwiseTile = 16;
// Pixels of a row that a block of the 3 x 3 depthwise kernels makes, and how many of them at once. Measured on mobilenet-v2-96, forward:
// runs of 4, 16 and 64 pixels 6412, 5681, 5573; 2 and 4 at once 6409, 5681.
inline constexpr std::int32_t kDepthwiseRun = 16, kDepthwisePixels = 4;

// Rows of a table that are fetched before they are needed. Measured on reuters with 0, 4, 16 and 64: lookup 58, 40, 32, 33; its gradient
// 100, 94, 81, 85.
inline constexpr std::int64_t kRowsAhead = 16;
// Threads among which an embedding's gradient shares the rows of the table: each reads all ids. Not measured: blocks are what the cores
// share here, and a block is one thread.
inline constexpr std::int64_t kEmbeddingGradientThreads = 1024;

// Elements that a block scales when gradients are clipped. Not measured: small enough for the first-level cache.
inline constexpr std::int64_t kClipRun = 4096;
// A checksum is made in so many parts, unless it is of so few elements that one launch is faster. Not measured: parts for every core.
inline constexpr std::int64_t kChecksumParts = 256, kSmallChecksum = 4096;

// Threads of a block, and the most blocks of a launch. Not measured: as in the CUDA twin, so that a launch looks as it does there.
inline constexpr std::int64_t kBlockThreads = 256, kMostBlocks = 16384;

// The most workspace for a plan of cuBLASLt and of cuDNN. Not measured: the virtual libraries need little.
inline constexpr std::uint64_t kMatmulWorkspace = std::uint64_t{8} << 20;
inline constexpr std::int64_t kConvolutionWorkspace = std::int64_t{256} << 20;

// Buffers for the rows of a sparse gradient have room for so many times the rows of the first batch. Not measured: batches of one data set
// use about as many.
inline constexpr std::int64_t kSparseRoom = 4;

}  // namespace lockstep::tuning

// In which order sums are made: the bits of results follow from these, so both twins have the same values.
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
