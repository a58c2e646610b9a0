// Numbers that suit the virtual GPU, that is a CPU: what each decides, and where it was measured. The CUDA twin has the same names.
//
// Measured means: `./lockstep bench --profile WORKLOAD` with two replicas on two cores of an AMD EPYC (Zen 4, AVX-512), microseconds of one
// core in a step, the least of three runs; on a quiet machine they differ by a few per cent.
#pragma once

#include <cstddef>
#include <cstdint>

// No result depends on these, except where they choose a library's algorithm; engine/kernels/sum_order.h has those that results depend on.
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
// Not measured: as in the CUDA twin, which says what they decide, so that a launch and a plan look as they do there.
inline constexpr std::int64_t kBlockThreads = 256, kMostBlocks = 16384, kEmbeddingGradientThreads = 1024;
inline constexpr std::int64_t kClipRun = 4096, kChecksumParts = 256, kSmallChecksum = 4096;
inline constexpr std::uint64_t kMatmulWorkspace = std::uint64_t{8} << 20;
inline constexpr std::int64_t kConvolutionWorkspace = std::int64_t{256} << 20, kSparseRoom = 4;

}  // namespace lockstep::tuning
